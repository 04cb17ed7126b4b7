/**
 * Runs one copy of the library through seeds until a check fails: `worker.js FOLDER FROM SEEDS
 * WORLD`. The world is `server`, `quorum` or `register`. It is a separate process, because a
 * mistake may make it hang.
 */
import { argv } from 'node:process';
import { loadLibrary } from '../../sim/dist/library.js';
import { planOf } from '../../sim/dist/plan/generate.js';
import { loadQuorum } from '../../sim/dist/quorum/library.js';
import { quorumPlanOf } from '../../sim/dist/quorum/plan.js';
import { runQuorum } from '../../sim/dist/quorum/run.js';
import { loadRegister } from '../../sim/dist/register/library.js';
import { registerPlanOf } from '../../sim/dist/register/plan.js';
import { runRegister } from '../../sim/dist/register/run.js';
import { run } from '../../sim/dist/run.js';
import { INVARIANT } from '../../sim/dist/world/world.js';

/** The result of one seed. */
interface Run {
  readonly broken?: string | undefined;
  readonly violations: readonly { readonly kind: string; readonly text: string }[];
}

/** Runs seeds on one server. */
async function single(folder: string | undefined): Promise<(seed: number) => Promise<Run>> {
  const library = await loadLibrary(folder);
  // the engine's own assertions must not hide which assertion of the simulator finds the mistake
  return (seed) => run({ ...planOf(seed), ignores: [INVARIANT] }, library);
}

/** Runs seeds on a quorum of servers. */
async function several(folder: string | undefined): Promise<(seed: number) => Promise<Run>> {
  const library = await loadQuorum(folder);
  return (seed) => runQuorum(quorumPlanOf(seed), library);
}

/** Runs seeds on a register. */
async function plain(folder: string | undefined): Promise<(seed: number) => Promise<Run>> {
  const library = await loadRegister(folder);
  return (seed) => runRegister(registerPlanOf(seed), library);
}

const WORLDS = new Map([
  ['server', single],
  ['quorum', several],
  ['register', plain],
]);

const [folder, from, seeds, world] = argv.slice(2);
let found: { readonly kind: string; readonly text: string } | undefined;
let broken: string | undefined;
const runs = await (WORLDS.get(world ?? '') ?? single)(folder);
for (let seed = Number(from); seed < Number(from) + Number(seeds); seed++) {
  // the parent process reads the seed at which it stopped this process
  process.stdout.write(`${seed}\n`);
  const result = await runs(seed);
  broken ??= result.broken;
  const [first] = result.violations;
  if (first === undefined) continue;
  found = { kind: first.kind, text: first.text };
  break;
}
process.stdout.write(`${JSON.stringify({ ...found, broken })}\n`);
process.exit(0);
