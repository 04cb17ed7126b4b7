/** The demo: three acts. It exits with 0 only if all that they have to prove is true. */
import { parseArgs } from 'node:util';
import { fiveWorkers } from './acts/five-workers.js';
import { killed } from './acts/killed.js';
import { paused } from './acts/paused.js';
import type { Crew, Director, Player } from './crew/crew.js';
import { embeddedCrew } from './crew/embedded.js';
import { processCrew } from './crew/processes.js';
import { type Fault, faultOf, NORMAL, type Pace, QUICK } from './plan.js';
import { displayFor, verdict } from './show/display.js';
import { line, styled } from './show/line.js';
import { Stage } from './stage.js';

const USAGE = `npm run demo -- [--redis URL] [--quick]

  --redis URL   locks in this server, workers in processes of their own
  --quick       shorter`;

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
  const stage = new Stage(interrupt.signal, pace.breath);
  stage.crew = await hire(values.redis, pace.workers, stage);
  stage.display = displayFor(process.stdout);
  let code = 130;
  try {
    code = (await perform(stage, pace, fault)) ? 0 : 1;
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
  } finally {
    await stage.crew.dismiss();
  }
  if (code === 130) stage.display.print(line(''), line(' interrupted: all workers ended'));
  return code;
}

function hire(url: string | undefined, size: number, director: Director): Promise<Crew> {
  if (url === undefined) return Promise.resolve(embeddedCrew(size, director));
  return processCrew(size, url, director);
}

async function perform(stage: Stage, pace: Pace, fault: Fault | undefined): Promise<boolean> {
  const { display, crew } = stage;
  const [first, second, third] = crew.players as readonly [Player, Player, Player];
  display.print(
    line(''),
    line(' ', styled('bold', 'Holdfast'), styled('dim', `  ${crew.words.cast}`)),
  );
  const acts = [
    () => fiveWorkers(stage, pace, fault),
    () => killed(stage, [first, second], pace, fault),
    // the first is dead
    () => paused(stage, [second, third], pace, fault),
  ];
  let good = true;
  for (const act of acts) good = (await act()) && good;
  const text = good
    ? 'One holder at a time, take-over when a lease has ended, no late write.'
    : 'The demo did not show what it has to: see above.';
  display.print(line(''), verdict(good, text), line(''));
  return good;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`demo: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
