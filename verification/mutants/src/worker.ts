/**
 * Runs one copy of the library through seeds until a check fails: `worker.js FOLDER FROM SEEDS`.
 * It is a separate process, because a mistake may make it hang.
 */
import { argv } from 'node:process';
import { loadLibrary } from '../../sim/dist/library.js';
import { planOf } from '../../sim/dist/plan/generate.js';
import { run } from '../../sim/dist/run.js';
import { INVARIANT } from '../../sim/dist/world/world.js';

const [folder, from, seeds] = argv.slice(2);
let found: { readonly kind: string; readonly text: string } | undefined;
let broken: string | undefined;
const library = await loadLibrary(folder);
for (let seed = Number(from); seed < Number(from) + Number(seeds); seed++) {
  // the parent process reads the seed at which it stopped this process
  process.stdout.write(`${seed}\n`);
  // the engine's own assertions must not hide which assertion of the simulator finds the mistake
  const result = await run({ ...planOf(seed), ignores: [INVARIANT] }, library);
  broken ??= result.broken;
  const [first] = result.violations;
  if (first === undefined) continue;
  found = { kind: first.kind, text: first.text };
  break;
}
process.stdout.write(`${JSON.stringify({ ...found, broken })}\n`);
process.exit(0);
