/**
 * Whether an overload feeds itself: many processes hand one lock on, first with the machine for
 * themselves and then beside busy loops. What each grant costs is counted, on one server and on a
 * quorum of three. The rate is a wall time, so it stands beside the share of the processor.
 */
import { spawn } from 'node:child_process';
import { execPath } from 'node:process';
import { Meter } from './scale/meter.js';
import { type Kind, startSite } from './scale/sites.js';
import { Team } from './scale/team.js';
import type { Settings } from './settings.js';

const SIZES: Partial<Record<Kind, readonly number[]>> = { one: [100, 300, 1000], quorum: [30] };
const QUICK: typeof SIZES = { one: [10], quorum: [4] };
/** The instances share so many processes of the system. */
const WORKERS = 4;
const LOOPS = 4;
const GRANTS_MIN = 2;
const GRANTS = 1500;

interface Counted {
  readonly grants: number;
  readonly ms: number;
  readonly commands: number;
  readonly inner: number;
  readonly server: number;
}

/** `npm run bench -- --overload` */
export async function printOverload({ server, quick }: Settings): Promise<void> {
  console.log(`hand-offs of one key, without and with ${LOOPS} busy loops: each grant needs`);
  for (const [kind, sizes] of Object.entries(quick ? QUICK : SIZES)) {
    await using site = await startSite(kind as Kind, server);
    await using meter = await Meter.start(site);
    for (const count of sizes) {
      const processes = Math.min(WORKERS, count);
      await using team = await Team.start(site, { processes, instances: count });
      const grants = quick ? GRANTS_MIN : Math.max(GRANTS_MIN, Math.ceil(GRANTS / count));
      const once = async (): Promise<Counted> => {
        const { result, change, seconds } = await meter.during(() =>
          team.ask({ do: 'contend', key: 'hot', grants, work: 0 }),
        );
        const of = (total: number): number => total / result.done;
        const counts = { commands: of(change.commands), inner: of(change.inner) };
        return { ...counts, grants: result.done, ms: seconds * 1000, server: of(change.cpu) };
      };
      // the first turn opens the wake connections
      await once();
      const quiet = await once();
      print(kind, count, 'quiet', quiet);
      const ends = Array.from({ length: LOOPS }, busyLoop);
      try {
        const loaded = await once();
        print(kind, count, 'loaded', loaded);
        const ratio = (name: 'commands' | 'inner'): string =>
          `${(loaded[name] / quiet[name]).toFixed(2)} x ${name}`;
        console.log(`    of quiet: ${ratio('commands')}, ${ratio('inner')}`);
      } catch (error) {
        console.log(`  ${kind}, ${count}, loaded: ${String(error)}`);
      } finally {
        for (const end of ends) end();
      }
    }
  }
}

function busyLoop(): () => void {
  const loop = spawn(execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
  return () => void loop.kill('SIGKILL');
}

function print(kind: string, count: number, state: string, of: Counted): void {
  const { grants, ms, commands, inner, server } = of;
  const each = `${commands.toFixed(2)} commands, ${inner.toFixed(1)} inner`;
  const rate = `${Math.round((grants * 1000) / ms)} grants a second`;
  console.log(
    `  ${kind}, ${count}, ${state}: ${each}, ${server.toFixed(0)} µs of the servers, ${rate}`,
  );
}
