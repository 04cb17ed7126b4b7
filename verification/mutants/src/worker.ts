/**
 * Runs one copy of the library through seeds until a check fails: `worker.js FOLDER FROM SEEDS`.
 * It is a separate process, because a mistake may make it hang.
 */
import { argv } from 'node:process';
import { loadLibrary } from '../../sim/dist/library.js';
import { planOf } from '../../sim/dist/plan/generate.js';
import { AWAITED } from '../../sim/dist/plan/plan.js';
import { run } from '../../sim/dist/run.js';

const [folder, from, seeds] = argv.slice(2);
const library = await loadLibrary(folder);
for (let seed = Number(from); seed < Number(from) + Number(seeds); seed++) {
  // the parent process reads the seed at which it stopped this process
  process.stdout.write(`${seed}\n`);
  const { violations } = await run({ ...planOf(seed), ignores: AWAITED }, library);
  const [first] = violations;
  if (first === undefined) continue;
  process.stdout.write(`${JSON.stringify({ kind: first.kind, text: first.text })}\n`);
  break;
}
process.exit(0);
