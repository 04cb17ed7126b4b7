/** The mistakes that trials on servers find, each with the trial and its kind of rounds. */
export interface Tried {
  /** The name of the mutant. */
  readonly mutant: string;
  readonly trial: string;
  /** A part of the name of the kind. */
  readonly kind: string;
  /** Default ioredis. Under Sentinel, ioredis asks a server for its role itself. */
  readonly client?: 'ioredis-6' | 'node-redis-6';
}

const tried = (trial: string, kind: string, ...mutants: readonly string[]): Tried[] =>
  mutants.map((mutant) => ({ mutant, trial, kind }));

export const TRIED: readonly Tried[] = [
  {
    mutant: 'a replica answers for its master',
    ...{ trial: 'disturbed-sentinel', kind: 'empty replica', client: 'node-redis-6' },
  },
  ...tried('disturbed-sentinel', 'password', 'a lost channel keeps its settings'),
  ...tried('disturbed-sentinel', 'wake-ups', 'a silent channel is believed'),
  ...tried('disturbed-sentinel', 'killed', 'a replica that is away ends the candidature'),
  ...tried('disturbed-sentinel', 'for calls', 'a silent client under Sentinel stays'),
  ...tried('disturbed-cluster', 'half way', 'three keys in a half-moved slot'),
  ...tried('sharding-proxy', '', 'several servers pass for one'),
  ...tried('restarts-sentinel', 'without saving, then replaced', 'acknowledged in another life'),
  ...tried('clocks-sentinel', 'replaced', 'a margin without effect'),
];
