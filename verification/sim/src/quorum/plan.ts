/** What a seed decides about a simulation of a quorum. */
import { Random } from '../base/random.js';
import { calm, isOrderly, isRoomy, type Network, roomy } from '../common/line.js';

/** The most by which a right clock is faster or slower than the time. */
export const CLOCK_RATE = 1e-4;
/** Longer than a simulation goes on after its faults, in ms. */
const LASTING_MS = 240_000;

export interface QuorumPlan {
  readonly seed: number;
  readonly servers: number;
  readonly processes: number;
  readonly tasks: number;
  /** Virtual ms with faults. */
  readonly ms: number;
  /** The servers lose nothing at a restart, and vote at once. */
  readonly durable: boolean;
  /** Ms between two faults, at most. */
  readonly faults: number;
  readonly network: Network;
  readonly ttl: number;
  readonly claimWindow: number;
  /** In ms; above 0 in plans so long that right clocks differ by more than a lease allows. */
  readonly clockMargin: number;
  /** With durable servers it is so long that an entry that is left behind is there at the end. */
  readonly retention: number;
  readonly localHandOffs: number;
  /** In ms: a lease that is valid for a shorter time is given back; 0: none is. */
  readonly minValidity: number;
  /** The longest pause of a task, in ms. */
  readonly pause: number;
  /** Servers whose clocks are wrong all the time. */
  readonly wrongClocks: number;
  /** Two applications with different prefixes use the servers. */
  readonly neighbours: boolean;
  /** Any number of servers may be silent at a time, for up to `silence` ms each. */
  readonly mute: boolean;
  readonly silence: number;
  /**
   * A minority is out of reach before it accepts anything, for this many ms, and comes back when
   * the keys of others are deleted; 0: never.
   */
  readonly absent: number;
  /** A server saves a snapshot before each fault. */
  readonly saves: boolean;
  /** Servers end subscriptions of living processes, and those of crashed ones at once. */
  readonly deaf: boolean;
  /** Nothing is lost and nothing fails: the order of the calls is judged. */
  readonly orderly: boolean;
}

/** The last digit of the seeds whose plans lose subscriptions. The known seeds end with others. */
const DEAF_DIGIT = 7;
/** The last digit of the seeds whose plans give short leases back. */
const EXACTING_DIGIT = 1;
/** The longest pause of tasks in plans that are long enough for a server to vote again. */
const SLOW_MS = 4000;

/**
 * @param changes replace what the seed decides. With fewer servers there are fewer wrong clocks:
 *   the quorum promises nothing if a majority of the clocks is wrong.
 */
export function quorumPlanOf(seed: number, changes: Partial<QuorumPlan> = {}): QuorumPlan {
  const plan = { ...drawn(seed), ...(isOrderly(seed) && orderly(seed)), ...changes };
  const retention = plan.durable ? LASTING_MS : Math.max(1000, 3 * plan.claimWindow);
  const apart = 2 * CLOCK_RATE * plan.ms;
  return {
    ...plan,
    retention,
    clockMargin: apart > plan.ttl / 100 ? Math.ceil(apart) : 0,
    absent: plan.durable ? 0 : plan.absent,
    wrongClocks: Math.min(plan.wrongClocks, Math.floor(plan.servers / 2)),
  };
}

/** A plan in which answers and messages are late, and clocks differ, but nothing fails. */
function orderly(seed: number): Partial<QuorumPlan> {
  const network = calm(seed);
  const terms = isRoomy(seed) ? roomy({ network }) : { ttl: 1500, claimWindow: 300 };
  const usual = { processes: 3, pause: 60, ms: 10_000 };
  const never = { mute: false, absent: 0 };
  return { ...usual, ...terms, ...never, network, servers: 3, orderly: true };
}

function drawn(seed: number): Omit<QuorumPlan, 'retention' | 'clockMargin'> {
  const random = new Random(`quorum ${seed}`);
  const harsh = random.chance(0.3);
  const ttl = random.pick([400, 600, 1500]);
  const slow = random.chance(0.35);
  const servers = random.pick([3, 3, 5, 5, 7]);
  const mute = random.chance(0.35);
  return {
    seed,
    servers,
    mute,
    silence: mute && slow ? random.pick([1500, 20_000, 100_000]) : 1500,
    pause: slow ? SLOW_MS : 60,
    wrongClocks: random.chance(0.3) ? random.whole(1, Math.floor(servers / 2)) : 0,
    neighbours: random.chance(0.3),
    processes: random.whole(2, 4),
    tasks: random.whole(1, 3),
    ms: slow ? 240_000 : random.pick([10_000, 10_000, 20_000, 60_000]),
    durable: random.chance(0.25),
    faults: random.pick(slow ? [800, 4000, 8000] : [300, 800, 2000]),
    network: {
      latency: random.pick([0.5, 2, 2]),
      slow: harsh ? 0.1 : 0.01,
      slowest: harsh ? 60 : 200,
      lost: harsh ? 0.03 : 0.003,
      copied: random.pick([0, 0.01, 0.05]),
      copies: 4000,
    },
    ttl,
    claimWindow: Math.min(200, ttl / 2),
    localHandOffs: random.pick([0, 4, 100]),
    saves: random.chance(0.5),
    deaf: seed % 10 === DEAF_DIGIT,
    minValidity: seed % 10 === EXACTING_DIGIT ? ttl * (0.5 + (seed % 7) / 14) : 0,
    orderly: false,
    absent: mute && random.chance(0.2) ? random.whole(1000, 8000) : 0,
  };
}
