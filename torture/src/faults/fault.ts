/** What a fault is, and what it plays with. */
import { setTimeout as sleep } from 'node:timers/promises';
import { between, type Random } from 'holdfast-trials/support/random';
import type { Actor, Cast } from '../cast.js';
import { type Lane, note, serverMicros, type Stage } from '../stage.js';

/** A loss of memory. */
export interface Loss {
  /** On the servers' clock, in microseconds. */
  readonly from: number;
  readonly to: number;
  /** Before it, on the timeline of the history. */
  readonly t: number;
  readonly k?: string | undefined;
}

/** What faults are done with. */
export class Scene {
  readonly stage: Stage;
  readonly cast: Cast;
  /** What was drawn but could not be done, with the reason. */
  readonly skipped: string[] = [];
  /** Until when, on the servers' clock, what was forgotten could be given out again. */
  latest = 0;
  /** When the store last lost its memory, on the servers' clock: it must not show that again. */
  lostAt = 0;

  /** When the last fault ends, of `performance.now()`. */
  #end: number;

  constructor(stage: Stage, cast: Cast, ms: number) {
    this.stage = stage;
    this.cast = cast;
    this.#end = performance.now() + ms;
  }

  get over(): boolean {
    return performance.now() >= this.#end;
  }

  /** No more faults from here on. */
  stop(): void {
    this.#end = Math.min(this.#end, performance.now());
  }

  /** What a fault does most of the time; the end of the run cuts it short. */
  sleep(ms: number): Promise<void> {
    return sleep(Math.max(1, Math.min(ms, this.#end - performance.now())));
  }

  /** Puts a fault on record; `of` is the process that it is done to. */
  begin(kind: string, of?: string): void {
    this.#fault(kind, 'begin', of);
  }

  end(kind: string, of?: string): void {
    this.#fault(kind, 'end', of);
  }

  /** `step`: by how many ms a clock was set. */
  once(kind: string, step?: number): void {
    this.#fault(kind, 'once', undefined, step);
  }

  #fault(kind: string, phase: 'begin' | 'end' | 'once', of?: string, step?: number): void {
    const more = { ...(of === undefined ? {} : { of }), ...(step === undefined ? {} : { step }) };
    const fault = { e: 'fault', kind, phase, ...more } as const;
    note(this.stage, fault);
  }

  /**
   * The store has lost its memory (of one key, if that is given): what it granted before `to` may
   * be granted again by what it is after `from`. Both are fences, which are times of the server.
   */
  lose({ from, to, t, k }: Loss): void {
    this.lostAt = to;
    this.forget({ from, to, t, k });
  }

  /** The same for a clock that was set: what was granted before ends early. */
  forget({ from, to, t, k }: Loss): void {
    const about = k === undefined ? {} : { k };
    note(this.stage, { e: 'amnesia', ...about, from: Math.floor(from), to: Math.ceil(to) }, { t });
  }

  /**
   * True while the servers' clock shows a time that it has shown before. What forgets its last
   * fence then, gives it out again: that is beyond what is promised.
   */
  get clockIsBehind(): boolean {
    const now = serverMicros(this.stage);
    this.latest = Math.max(this.latest, now);
    return now < this.latest;
  }
}

/** One kind of fault. */
export interface Fault {
  readonly kind: string;
  /** Does it, and undoes it; returns false if it could not be done. */
  run(scene: Scene, random: Random): Promise<boolean>;
}

/** A fault of one process, which is left in peace by the others meanwhile. */
export function actorFault(
  kind: string,
  fits: (lane: Lane) => boolean,
  play: (scene: Scene, actor: Actor, random: Random) => Promise<void>,
): Fault {
  return {
    kind,
    async run(scene, random) {
      const actor = scene.cast.free(random, fits);
      if (actor === undefined) return false;
      actor.busy = true;
      const { name } = actor;
      scene.begin(kind, name);
      try {
        await play(scene, actor, random);
      } finally {
        scene.end(kind, name);
        actor.busy = false;
      }
      return true;
    },
  };
}

/** A fault that is done to the main server and undone after a while. */
export function mainFault(
  kind: string,
  [shortest, longest]: readonly [number, number],
  start: (stage: Stage, random: Random, ms: number) => unknown,
  stop: (stage: Stage) => unknown,
): Fault {
  return {
    kind,
    async run(scene, random) {
      const ms = between(random, shortest, longest);
      scene.begin(kind);
      try {
        await start(scene.stage, random, ms);
        await scene.sleep(ms);
      } finally {
        await stop(scene.stage);
        scene.end(kind);
      }
      return true;
    },
  };
}
