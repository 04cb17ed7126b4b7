/** Rounds of several kinds, in lanes: each lane has one deployment at a time. */
import { Problems } from '../support/problems.js';
import { type Random, randomFrom } from '../support/random.js';
import { type Parameters, type Verdict, verdict } from '../trial.js';
import { add, detailsOf, type Output, ServerTrouble, sorted } from './scenario.js';

/** Deployments one after the other; if the servers of the last one fail too, that is a problem. */
const DEPLOYMENTS_MAX = 10;

/** The rounds that are left in a lane. */
export interface Rounds<Kind> extends Output {
  readonly random: Random;
  readonly rounds: Kind[];
}

interface Named {
  readonly name: string;
}

/** Starts a deployment, and shifts each round that is over. */
type OnDeployment<Kind> = (lane: Parameters, rounds: Rounds<Kind>) => Promise<void>;

export async function inLanes<Kind extends Named>(
  parameters: Parameters,
  kinds: readonly Kind[],
  onDeployment: OnDeployment<Kind>,
): Promise<Verdict> {
  const { tasks, trials, seed } = parameters;
  const output: Output = { problems: new Problems(), figures: {} };
  const lanes = Array.from({ length: Math.min(tasks, trials) }, (_, at) => ({
    ...parameters,
    seed: seed * 1000 + at,
    trials: Math.floor((trials + at) / Math.min(tasks, trials)),
  }));
  const ends = await Promise.allSettled(
    lanes.map((lane) => runLane(lane, kinds, { output, onDeployment })),
  );
  // the other deployments go on
  for (const end of ends) {
    if (end.status === 'rejected') output.problems.add('deployment', detailsOf(end.reason));
  }
  return verdict(sorted(output.figures), output.problems.list());
}

/** The rounds of one deployment at a time. */
async function runLane<Kind extends Named>(
  lane: Parameters,
  kinds: readonly Kind[],
  { output, onDeployment }: { output: Output; onDeployment: OnDeployment<Kind> },
): Promise<void> {
  const some = kinds.filter(({ name }) => name.includes(lane.kind)).slice(0, lane.others);
  const rounds = Array.from({ length: lane.trials }, () => some).flat();
  const random = randomFrom(lane.seed);
  for (let left = DEPLOYMENTS_MAX; rounds.length > 0; left--) {
    try {
      await onDeployment(lane, { ...output, random, rounds });
    } catch (error) {
      if (!(error instanceof ServerTrouble) || left === 1) throw error;
      add(output, `deployments started again: ${error.message}`);
    }
  }
}
