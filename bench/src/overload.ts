/**
 * Whether an overload feeds itself: many processes hand one lock on, first with the machine for
 * themselves and then beside busy loops. What each grant costs is counted, on one server and on a
 * quorum of three. The rate is a wall time, so it stands beside the processor time that the
 * contenders and the servers got in a second: the rate may fall by that factor, and no more.
 */
import { spawn } from 'node:child_process';
import { execPath } from 'node:process';
import { readFileSync } from 'node:fs';
import { Meter } from './scale/meter.js';
import { type Kind, startSite } from './scale/sites.js';
import { Team } from './scale/team.js';
import { callsByName, perOne } from './server-readings.js';
import type { Settings } from './settings.js';

const SIZES: Partial<Record<Kind, readonly number[]>> = {
  one: [100, 300, 1000, 3000],
  quorum: [30, 100],
};
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
  /** Processor time of the contenders and of the servers, in cores. */
  readonly cores: readonly [contenders: number, servers: number];
  /** Calls of scripts, and of the commands in them, for each grant. */
  readonly scripts: string;
  readonly calls: string;
}

/** `npm run bench -- --overload` */
export async function printOverload({ kinds, server, quick }: Settings): Promise<void> {
  const names = scriptNames();
  console.log(`hand-offs of one key, without and with ${LOOPS} busy loops: each grant needs`);
  for (const [kind, sizes] of Object.entries(quick ? QUICK : SIZES)) {
    if (!kinds.includes(kind as Kind)) continue;
    await using site = await startSite(kind as Kind, server);
    await using meter = await Meter.start(site);
    for (const count of sizes) {
      const processes = Math.min(WORKERS, count);
      await using team = await Team.start(site, { processes, instances: count, counted: true });
      const grants = quick ? GRANTS_MIN : Math.max(GRANTS_MIN, Math.ceil(GRANTS / count));
      let known = new Map<string, number>();
      const once = async (): Promise<Counted> => {
        const before = await callsByName(site.masters);
        const { result, change, seconds } = await meter.during(() =>
          team.ask({ do: 'contend', key: 'hot', grants, work: 0 }),
        );
        const calls = perOne(await callsByName(site.masters, before), result.done);
        const scripts = new Map<string, number>();
        for (const [sha, all] of Object.entries(result.scripts)) {
          scripts.set(names.get(sha) ?? sha, all - (known.get(sha) ?? 0));
        }
        known = new Map(Object.entries(result.scripts));
        const of = (total: number): number => total / result.done;
        const counts = { commands: of(change.commands), inner: of(change.inner) };
        const texts = { calls, scripts: perOne(scripts, result.done) };
        const ms = seconds * 1000;
        const cores = [result.cpu / ms / 1000, change.cpu / ms / 1000] as const;
        return { ...counts, ...texts, grants: result.done, ms, server: of(change.cpu), cores };
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
        console.log(`    of quiet: ${rateBesideShare(quiet, loaded)}`);
      } catch (error) {
        console.log(`  ${kind}, ${count}, loaded: ${String(error)}`);
      } finally {
        for (const end of ends) end();
      }
    }
  }
}

/** By which factors the rate and the processor time in a second fell. */
function rateBesideShare(quiet: Counted, loaded: Counted): string {
  const fell = (of: (one: Counted) => number): number => of(loaded) / of(quiet);
  const rate = fell(({ grants, ms }) => grants / ms);
  const share = fell(({ cores: [contenders, servers] }) => contenders + servers);
  const [contenders, servers] = [fell(({ cores }) => cores[0]), fell(({ cores }) => cores[1])];
  const parts = `contenders ${contenders.toFixed(2)} x, servers ${servers.toFixed(2)} x`;
  return `${rate.toFixed(2)} x rate, ${share.toFixed(2)} x processor (${parts})`;
}

/** The names of the scripts by their hashes. */
function scriptNames(): Map<string, string> {
  const file = '../../packages/holdfast/src/store/redis/generated/scripts.ts';
  const text = readFileSync(new URL(file, import.meta.url), 'utf8');
  const found = text.matchAll(/new Script\('(\w+)', '(\w+)'\)/g);
  return new Map([...found].map(([, name = '', sha = '']) => [sha, name]));
}

function busyLoop(): () => void {
  const loop = spawn(execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
  return () => void loop.kill('SIGKILL');
}

function print(kind: string, count: number, state: string, of: Counted): void {
  const { grants, ms, calls, commands, inner, scripts, server } = of;
  const each = `${commands.toFixed(2)} commands, ${inner.toFixed(1)} inner`;
  const rate = `${Math.round((grants * 1000) / ms)} grants a second`;
  const [contenders, servers] = of.cores.map((one) => one.toFixed(2));
  console.log(`    scripts: ${scripts}; calls: ${calls}`);
  console.log(
    `  ${kind}, ${count}, ${state}: ${each}, ${server.toFixed(0)} µs of the servers, ${rate}`,
  );
  console.log(`    cores in use: ${contenders} of the contenders, ${servers} of the servers`);
}
