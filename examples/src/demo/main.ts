/** The demo: three scenarios. It exits with code 0 only if all checks of all scenarios pass. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fiveWorkers } from './scenarios/five-workers.js';
import { killedServers } from './scenarios/killed-servers.js';
import { killed } from './scenarios/killed.js';
import { paused } from './scenarios/paused.js';
import type { WorkerGroup, WorkerHost, DemoWorker } from './workers/workers.js';
import { usableUrlOf } from './workers/connection.js';
import { embeddedWorkers } from './workers/embedded.js';
import { processWorkers } from './workers/processes.js';
import { type QuorumServers, startQuorum } from './workers/quorum-servers.js';
import { type Fault, faultOf, NORMAL, type Pace, quick } from './plan.js';
import { displayFor, verdict } from './display/display.js';
import { line, styled } from './display/line.js';
import { DemoRunner } from './runner.js';

const USAGE = `npm run demo -- [--redis URL | --quorum | --embedded] [--quick]

  --redis URL   keep the locks on this server; by default they are in a temporary file
  --quorum      start five servers, and kill two of them while five workers contend
  --embedded    workers in this process, with locks in memory: so it is where SQLite is missing
  --quick       use fewer workers and shorter times`;

async function main(): Promise<number> {
  const options = { redis: { type: 'string' }, quick: { type: 'boolean' } } as const;
  const several = { quorum: { type: 'boolean' }, embedded: { type: 'boolean' } } as const;
  const help = { help: { type: 'boolean' } } as const;
  const { values } = parseArgs({ options: { ...options, ...several, ...help } });
  if (values.help === true) {
    console.log(USAGE);
    return 0;
  }
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupt.abort());
  }
  const slower = Number(process.env['HOLDFAST_DEMO_SLOWER'] ?? 1);
  const pace = values.quick === true ? quick(slower) : NORMAL;
  const fault = faultOf(process.env['HOLDFAST_DEMO_FAULT']);
  const runner = new DemoRunner(interrupt.signal, pace.readingPause);
  if (values.quorum === true && values.redis !== undefined) {
    throw new Error('--quorum starts its own servers, so it cannot be used with --redis');
  }
  const servers = values.quorum === true ? await startQuorum() : undefined;
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-demo-'));
  let code = 130;
  try {
    const file = values.embedded === true ? undefined : fileIn(folder);
    const url = servers?.url ?? values.redis ?? (await file);
    runner.group = await createWorkers(url, pace.workers, runner);
    runner.display = displayFor(process.stdout);
    code = (await runScenarios(runner, pace, fault, servers)) ? 0 : 1;
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
  } finally {
    await runner.group?.close();
    await servers?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  if (code === 130) runner.display.print(line(''), line(' interrupted: all workers ended'));
  return code;
}

/** The URL of a file for the locks; `undefined` if workers cannot be processes that share it. */
async function fileIn(folder: string): Promise<string | undefined> {
  // a process cannot be paused there
  if (process.platform === 'win32') return undefined;
  return usableUrlOf(join(folder, 'locks.db'));
}

function createWorkers(
  url: string | undefined,
  size: number,
  host: WorkerHost,
): Promise<WorkerGroup> {
  if (url === undefined) return Promise.resolve(embeddedWorkers(size, host));
  return processWorkers(size, url, host);
}

async function runScenarios(
  runner: DemoRunner,
  pace: Pace,
  fault: Fault | undefined,
  servers: QuorumServers | undefined,
): Promise<boolean> {
  const { display, group } = runner;
  const [first, second, third] = group.workers as readonly [DemoWorker, DemoWorker, DemoWorker];
  display.print(
    line(''),
    line(' ', styled('bold', 'Holdfast'), styled('dim', `  ${group.texts.summary}`)),
  );
  const scenarios = servers && [() => killedServers(runner, servers, pace, fault)];
  const usual = [
    () => fiveWorkers(runner, pace, fault),
    () => killed(runner, [first, second], pace, fault),
    // the first worker was killed
    () => paused(runner, [second, third], pace, fault),
  ];
  let passed = true;
  for (const scenario of scenarios ?? usual) passed = (await scenario()) && passed;
  const shown = servers
    ? 'One holder at a time, while two of five servers were dead.'
    : 'One holder at a time, take-over when a lease has ended, no late write.';
  const text = passed ? shown : 'At least one check failed: see above.';
  display.print(line(''), verdict(passed, text), line(''));
  return passed;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`demo: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
