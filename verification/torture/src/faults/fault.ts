/** The interface of a fault, and the context in which faults run. */
import { setTimeout as sleep } from 'node:timers/promises';
import { between, type Random } from 'holdfast-trials/support/random';
import type { Participant, Participants } from '../participants.js';
import { type Route, note, serverMicros, type Scenario, type ServerScenario } from '../scenario.js';

/** The store lost data. */
export interface Loss {
  /** On the servers' clock, in microseconds. */
  readonly from: number;
  readonly to: number;
  /** Before it, on the timeline of the history. */
  readonly t: number;
  readonly k?: string | undefined;
}

/** The state that all faults share. */
export class FaultContext<S extends Scenario = Scenario> {
  readonly scenario: S;
  readonly participants: Participants;
  /** Kinds of faults that were drawn but not possible. */
  readonly skipped: string[] = [];
  /** The latest time that the clock of the servers has shown. */
  latest = 0;
  /** When the store last lost data, on the clock of the servers, which must not go back to it. */
  lostAt = 0;

  /** When the last fault ends, on `performance.now()`. */
  #end: number;

  constructor(scenario: S, participants: Participants, ms: number) {
    this.scenario = scenario;
    this.participants = participants;
    this.#end = performance.now() + ms;
  }

  get over(): boolean {
    return performance.now() >= this.#end;
  }

  /** Ends the faults now. */
  stop(): void {
    this.#end = Math.min(this.#end, performance.now());
  }

  /** Waits `ms`, or until the faults end. */
  sleep(ms: number): Promise<void> {
    return sleep(Math.max(1, Math.min(ms, this.#end - performance.now())));
  }

  /** Records the start of a fault; `of` is the affected process. */
  begin(kind: string, of?: string): void {
    this.#fault(kind, 'begin', of);
  }

  end(kind: string, of?: string): void {
    this.#fault(kind, 'end', of);
  }

  /** Records a fault without duration; `step`: by how many ms a clock was set. */
  once(kind: string, step?: number): void {
    this.#fault(kind, 'once', undefined, step);
  }

  #fault(kind: string, phase: 'begin' | 'end' | 'once', of?: string, step?: number): void {
    const more = { ...(of === undefined ? {} : { of }), ...(step === undefined ? {} : { step }) };
    const fault = { e: 'fault', kind, phase, ...more } as const;
    note(this.scenario, fault);
  }

  /**
   * Records that the store lost its data, or the data of key `k`. Leases granted up to `to` may
   * overlap with leases granted from `from` on. Both are fences, which are times of the server.
   */
  noteDataLoss({ from, to, t, k }: Loss): void {
    this.lostAt = to;
    this.noteAmnesia({ from, to, t, k });
  }

  /** The event alone. Also for a clock that was set: leases granted before it end early. */
  noteAmnesia({ from, to, t, k }: Loss): void {
    const about = k === undefined ? {} : { k };
    note(
      this.scenario,
      { e: 'amnesia', ...about, from: Math.floor(from), to: Math.ceil(to) },
      { t },
    );
  }

  /**
   * True while the clock of the servers shows a time that it has shown before. A store that loses
   * its last fence at such a time would grant it again: the guarantees do not cover that.
   */
  get clockIsBehind(): boolean {
    const now = serverMicros(this.scenario);
    this.latest = Math.max(this.latest, now);
    return now < this.latest;
  }
}

/** One kind of fault, of a store or of its processes. */
export interface Fault<S extends Scenario = ServerScenario> {
  readonly kind: string;
  /** Injects the fault and removes it; returns false if it was not possible. */
  run(context: FaultContext<S>, random: Random): Promise<boolean>;
}

/** A fault of one process, which has no other fault at the same time. */
export function participantFault(
  kind: string,
  fits: (route: Route) => boolean,
  inject: (context: FaultContext, participant: Participant, random: Random) => Promise<void>,
): Fault<Scenario> {
  return {
    kind,
    async run(context, random) {
      const participant = context.participants.free(random, fits);
      if (participant === undefined) return false;
      participant.busy = true;
      const { name } = participant;
      context.begin(kind, name);
      try {
        await inject(context, participant, random);
      } finally {
        context.end(kind, name);
        participant.busy = false;
      }
      return true;
    },
  };
}

/** A fault of the store that is removed after a while. */
export function mainFault<S extends Scenario = ServerScenario>(
  kind: string,
  [shortest, longest]: readonly [number, number],
  start: (scenario: S, random: Random, ms: number) => unknown,
  stop: (scenario: S) => unknown,
): Fault<S> {
  return {
    kind,
    async run(context, random) {
      const ms = between(random, shortest, longest);
      context.begin(kind);
      try {
        await start(context.scenario, random, ms);
        await context.sleep(ms);
      } finally {
        await stop(context.scenario);
        context.end(kind);
      }
      return true;
    },
  };
}
