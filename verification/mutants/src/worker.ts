/**
 * Runs one copy of the library through seeds until something is found, in a process of its own,
 * because a mistake may as well hang it: `worker.js FOLDER FROM SEEDS`.
 */
import { argv } from 'node:process';
import { loadLibrary } from '../../sim/dist/library.js';
import { planOf } from '../../sim/dist/plan/generate.js';
import { AWAITED } from '../../sim/dist/plan/plan.js';
import { run } from '../../sim/dist/run.js';

const [folder, from, seeds] = argv.slice(2);
const library = await loadLibrary(folder);
for (let seed = Number(from); seed < Number(from) + Number(seeds); seed++) {
  // whoever waits for this process knows by it at which seed it was stopped
  process.stdout.write(`${seed}\n`);
  const { violations } = await run({ ...planOf(seed), ignores: AWAITED }, library);
  const [first] = violations;
  if (first === undefined) continue;
  process.stdout.write(`${JSON.stringify({ kind: first.kind, text: first.text })}\n`);
  break;
}
process.exit(0);
