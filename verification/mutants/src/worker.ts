/**
 * Runs one copy of the library through seeds, until a check fails. Its argument has the search: its
 * folder, its seeds, and its world, `server`, `quorum` or `register`. It is a separate process,
 * because a mistake may make it hang.
 */
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
import { RESULT } from './hunt.js';
import type { World } from './mutant.js';

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

const WORLDS = { server: single, quorum: several, register: plain };

interface Search {
  readonly folder: string;
  readonly from: number;
  readonly seeds: number;
  readonly world: World;
}

async function search({ folder, from, seeds, world }: Search): Promise<object> {
  let broken: string | undefined;
  const runs = await WORLDS[world](folder);
  for (let seed = from; seed < from + seeds; seed++) {
    // the parent process reads the seed at which it stopped this process
    process.stdout.write(`${seed}\n`);
    const result = await runs(seed);
    broken ??= result.broken;
    const [first] = result.violations;
    if (first !== undefined) return { kind: first.kind, text: first.text, broken };
  }
  return { broken };
}

const result = await search(JSON.parse(process.argv[2] as string) as Search);
// the run of the last seed may not have ended
process.stdout.write(`${RESULT}${JSON.stringify(result)}\n`, () => process.exit(0));
