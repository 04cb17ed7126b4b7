/** What a seed decides about a simulation of a register. */
import { Random } from '../base/random.js';
import { calm, isOrderly, isRoomy, type Network, roomy } from '../common/line.js';

/** Longer than a simulation goes on after its faults, in ms. */
const LASTING_MS = 240_000;

export interface RegisterPlan {
  readonly seed: number;
  readonly processes: number;
  readonly tasks: number;
  /** Virtual ms with faults. */
  readonly ms: number;
  /** Ms between two faults, at most. */
  readonly faults: number;
  readonly network: Network;
  readonly ttl: number;
  readonly claimWindow: number;
  /** If it lasts, an entry that is left behind is there at the end. */
  readonly retention: number;
  readonly localHandOffs: number;
  /** The longest pause of a task, in ms. */
  readonly pause: number;
  /** The longest silence of the register, in ms. */
  readonly silence: number;
  /** A call is given up after this time, in ms. */
  readonly timeout: number;
  /** The client gives no call up: the library does. */
  readonly endless: boolean;
  /** The register has `listen`. */
  readonly messages: boolean;
  /** Its messages bring the new state to the next holder. */
  readonly handsOver: boolean;
  /** It has `overtake`. */
  readonly overtakes: boolean;
  /** It has `swapMany` and `readMany`. */
  readonly batches: boolean;
  /** It knows its clock only up to this error, in ms. */
  readonly bounds: number;
  /** It deletes states that may be forgotten; else it hides them, and deletes them later. */
  readonly deletes: boolean;
  /** The part of the swaps whose new version the client does not learn. */
  readonly blind: number;
  /** The part of the messages that arrive late or twice, and of those that are forged. */
  readonly strange: number;
  /** Some outages are refusals. What was refused is not repeated, so silent waiters remain. */
  readonly refuses: boolean;
  /** Tasks guard some leases with a transaction. */
  readonly guards: boolean;
  /** Faults for which nothing is promised: older backups, and a clock that is set forward. */
  readonly excused: boolean;
  /** Nothing is lost and nothing fails: the order of the calls is judged. */
  readonly orderly: boolean;
}

export function registerPlanOf(seed: number, changes: Partial<RegisterPlan> = {}): RegisterPlan {
  const plan = drawn(seed);
  return { ...plan, ...(isOrderly(seed) && orderly(plan)), ...changes };
}

/** A plan in which answers and messages are late, and clocks differ, but nothing fails. */
function orderly(plan: RegisterPlan): Partial<RegisterPlan> {
  const messages = plan.seed % 20 < 10;
  const network = calm(plan.seed);
  const ways = { network, messages, bounds: plan.bounds };
  const terms = isRoomy(plan.seed) ? roomy(ways) : { ttl: 1500, claimWindow: 300 };
  const retention = Math.max(plan.retention, 3 * terms.claimWindow);
  return {
    ...{ messages, network, processes: 3, pause: 60, timeout: 1000, ...terms, retention },
    ...{ refuses: false, guards: false, excused: false, strange: 0, orderly: true, ms: 10_000 },
  };
}

function drawn(seed: number): RegisterPlan {
  const random = new Random(`register ${seed}`);
  const harsh = random.chance(0.3);
  const ttl = random.pick([400, 600, 1500]);
  return {
    seed,
    processes: random.whole(2, 4),
    tasks: random.whole(1, 3),
    ms: random.pick([10_000, 10_000, 20_000, 60_000]),
    faults: random.pick([300, 800, 2000]),
    network: {
      latency: random.pick([0.5, 2, 2, 10]),
      slow: harsh ? 0.1 : 0.01,
      slowest: harsh ? 100 : random.pick([200, 3000]),
      lost: harsh ? 0.03 : 0.003,
      copied: random.pick([0, 0.01, 0.05]),
      copies: 4000,
      loose: random.chance(0.6),
    },
    ttl,
    claimWindow: Math.min(200, ttl / 2),
    retention: random.pick([1000, 5000, LASTING_MS, LASTING_MS]),
    localHandOffs: random.pick([0, 4, 100]),
    pause: random.pick([60, 60, 400, 3000]),
    silence: random.pick([500, 1500, 4000]),
    timeout: random.pick([80, 250, 1000]),
    messages: random.chance(0.75),
    batches: random.chance(0.6),
    bounds: random.pick([0, 0, 0, 40, 150]),
    deletes: random.chance(0.5),
    blind: random.pick([0, 0, 0.1]),
    strange: random.pick([0, 0.02, 0.1]),
    refuses: random.chance(0.4),
    guards: random.chance(0.4),
    excused: random.chance(0.1),
    endless: random.chance(0.25),
    handsOver: random.chance(0.5),
    overtakes: random.chance(0.5),
    orderly: false,
  };
}
