/**
 * One gate ([decision 7](../../../../docs/decisions/0007-gates-name-their-generation.md)): it
 * counts arrivals and opens at the agreed number.
 *
 *     latch    closed --last arrival--> open  --end--> (next generation) closed
 *                 \---no arrival for ttl--> broken --end--> (next generation) closed
 *     barrier  closed --last arrival--> open, and the next generation is closed
 *                 \---an arrival expired, end--> broken, and the next generation is closed
 *
 * Generations grow like fences (I2). Arrivals are remembered by id for the current generation and
 * the one before (I3). A bounded list of broken generations tells how older ones ended: one before
 * its start is unknown, and never reported as open.
 *
 * A deleted latch is kept for a while as a gate with a new generation, the count 0 and no kind. The
 * next call that names that generation, or none, decides what it becomes; an arrival that was under
 * way is told that its generation is broken.
 *
 * Only this file and `gates.ts` write the fields (`saved.ts` restores them). I9: `endsAt` and
 * `retention` limit the life of the gate.
 */
import type { BreakReason, Fate, GateCommand, GateKind, GatePush } from './gate-messages.js';
import { BROKEN_LIMIT, CHANNEL_LIMIT } from './limits.js';
import { SortedSet } from './sorted-set.js';
import type { CommandContext } from './serve.js';
import type { Micros } from './commands.js';

type GateTerms = Pick<GateCommand, 'kind' | 'count' | 'ttl' | 'retention'>;

interface Broken {
  readonly generation: number;
  readonly reason: BreakReason;
}

export class Gate {
  readonly key: string;
  kind: GateKind;
  /** 0 for a deleted latch. */
  count: number;
  generation: number;
  /** Earlier generations are not remembered. */
  since: number;
  missing: number;
  /**
   * Of a latch: when it breaks, broke or opened. Of a barrier: its last use, or a time after the
   * latest expiry.
   */
  endsAt: Micros = 0;
  /** How long the gate is kept after `endsAt`, in ms. */
  retention = 0;
  /** The generation of the arrivals in `past`, or 0. */
  pastGeneration = 0;
  readonly broken: Broken[] = [];
  /** Id → arrivals that were missing after it. */
  arrivals: Map<string, number> = new Map();
  past: Map<string, number> = new Map();
  expiries: SortedSet = new SortedSet();
  readonly channels: Map<string, string> = new Map();

  constructor(key: string, kind: GateKind, count: number, now: Micros) {
    this.key = key;
    this.kind = kind;
    this.count = count;
    this.missing = count;
    this.generation = now;
    this.since = now;
  }

  get forgetAt(): Micros {
    return this.endsAt + this.retention * 1000;
  }

  fate(generation: number): Fate {
    if (generation > this.generation || generation < this.since) return 'unknown';
    if (generation === this.generation && this.count === 0) return 'unknown';
    if (this.reasonOf(generation) !== '') return 'broken';
    return generation < this.generation || this.missing === 0 ? 'open' : 'closed';
  }

  /** A number between those of the previous and the current generation names the former. */
  reasonOf(generation: number): BreakReason | '' {
    const { pastGeneration: past } = this;
    const isPast = past !== 0 && generation > past && generation < this.generation;
    const named = isPast ? past : generation;
    return this.broken.find((one) => one.generation === named)?.reason ?? '';
  }

  next(now: Micros): Micros {
    if (this.kind === 'latch') {
      return this.fate(this.generation) === 'closed' ? Math.max(0, this.endsAt - now) : 0;
    }
    const first = this.expiries.at(0);
    return first === undefined ? 0 : Math.max(0, (this.expiries.score(first) as number) - now);
  }

  breakExpired(context: CommandContext): void {
    const { now } = context;
    if (this.kind === 'latch') {
      if (this.fate(this.generation) !== 'closed' || this.endsAt > now) return;
      this.#remember('expired');
      this.#tell(context, this.generation);
      return;
    }
    const first = this.expiries.at(0);
    if (first !== undefined && (this.expiries.score(first) as number) <= now) {
      this.end(context, 'expired', this.count);
    }
    this.endsAt = Math.max(this.endsAt, now);
  }

  begin({ kind, count, ttl, retention }: GateTerms, now: Micros): void {
    this.kind = kind;
    this.count = count;
    this.missing = count;
    this.endsAt = kind === 'latch' ? now + ttl * 1000 : now;
    this.retention = retention;
  }

  keep(retention: number): void {
    this.retention = Math.max(this.retention, retention);
  }

  arrive(context: CommandContext, id: string, by: number, ttl: number): void {
    const { now } = context;
    this.missing = Math.max(0, this.missing - by);
    this.arrivals.set(id, this.missing);
    if (this.kind === 'latch') {
      this.endsAt = this.missing === 0 ? now : Math.max(this.endsAt, now + ttl * 1000);
      if (this.missing === 0) this.#tell(context, this.generation);
    } else if (this.missing === 0) {
      this.#next(context, this.count);
    } else {
      this.extend(id, now + ttl * 1000);
    }
  }

  /** Never shortens the life of an arrival. The gate's end moves seldom, to save writes. */
  extend(id: string, expires: Micros): void {
    const later = Math.max(this.expiries.score(id) ?? 0, expires);
    this.expiries.set(id, later);
    if (later > this.endsAt) this.endsAt = later + this.retention * 500;
  }

  /** Ends the generation, as broken unless it is open, and begins the next. */
  end(context: CommandContext, reason: BreakReason, count: number): void {
    if (this.fate(this.generation) === 'closed') this.#remember(reason);
    this.#next(context, count);
  }

  listen({ channel, token }: { readonly channel: string; readonly token: string }): void {
    if (channel === '' || this.channels.size >= CHANNEL_LIMIT) return;
    this.channels.set(channel, token);
  }

  forgetPast(): void {
    if (this.past.size === 0) return;
    this.past = new Map();
    this.pastGeneration = 0;
  }

  #next(context: CommandContext, count: number): void {
    const ended = this.generation;
    this.past = this.arrivals;
    this.pastGeneration = ended;
    this.arrivals = new Map();
    this.expiries = new SortedSet();
    this.generation = Math.max(ended + 1, context.now);
    this.count = count;
    this.missing = count;
    this.endsAt = context.now;
    this.#tell(context, ended);
  }

  #remember(reason: BreakReason): void {
    this.broken.push({ generation: this.generation, reason });
    if (this.broken.length <= BROKEN_LIMIT) return;
    this.since = (this.broken.shift() as Broken).generation + 1;
  }

  #tell({ pushes }: CommandContext, generation: number): void {
    const { key, generation: current } = this;
    const fate = this.fate(generation) === 'broken' ? 'broken' : 'open';
    const reason = this.reasonOf(generation);
    for (const channel of [...this.channels.keys()].sort()) {
      const token = this.channels.get(channel) as string;
      const push: GatePush = { kind: 'gate', key, generation, fate, reason, current, token };
      pushes.push({ channel, push });
    }
    this.channels.clear();
  }
}
