/** The demo: three scenarios. It exits with code 0 only if all checks of all scenarios pass. */
import { parseArgs } from 'node:util';
import { fiveWorkers } from './scenarios/five-workers.js';
import { killed } from './scenarios/killed.js';
import { paused } from './scenarios/paused.js';
import type { WorkerGroup, WorkerHost, DemoWorker } from './workers/workers.js';
import { embeddedWorkers } from './workers/embedded.js';
import { processWorkers } from './workers/processes.js';
import { type Fault, faultOf, NORMAL, type Pace, QUICK } from './plan.js';
import { displayFor, verdict } from './display/display.js';
import { line, styled } from './display/line.js';
import { DemoRunner } from './runner.js';

const USAGE = `npm run demo -- [--redis URL] [--quick]

  --redis URL   keep the locks on this server, and run each worker in its own process
  --quick       use fewer workers and shorter times`;

async function main(): Promise<number> {
  const options = { redis: { type: 'string' }, quick: { type: 'boolean' } } as const;
  const help = { help: { type: 'boolean' } } as const;
  const { values } = parseArgs({ options: { ...options, ...help } });
  if (values.help === true) {
    console.log(USAGE);
    return 0;
  }
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupt.abort());
  }
  const pace = values.quick === true ? QUICK : NORMAL;
  const fault = faultOf(process.env['HOLDFAST_DEMO_FAULT']);
  const runner = new DemoRunner(interrupt.signal, pace.readingPause);
  runner.group = await createWorkers(values.redis, pace.workers, runner);
  runner.display = displayFor(process.stdout);
  let code = 130;
  try {
    code = (await runScenarios(runner, pace, fault)) ? 0 : 1;
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
  } finally {
    await runner.group.close();
  }
  if (code === 130) runner.display.print(line(''), line(' interrupted: all workers ended'));
  return code;
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
): Promise<boolean> {
  const { display, group } = runner;
  const [first, second, third] = group.workers as readonly [DemoWorker, DemoWorker, DemoWorker];
  display.print(
    line(''),
    line(' ', styled('bold', 'Holdfast'), styled('dim', `  ${group.texts.summary}`)),
  );
  const scenarios = [
    () => fiveWorkers(runner, pace, fault),
    () => killed(runner, [first, second], pace, fault),
    // the first worker was killed
    () => paused(runner, [second, third], pace, fault),
  ];
  let passed = true;
  for (const scenario of scenarios) passed = (await scenario()) && passed;
  const text = passed
    ? 'One holder at a time, take-over when a lease has ended, no late write.'
    : 'At least one check failed: see above.';
  display.print(line(''), verdict(passed, text), line(''));
  return passed;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`demo: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
