/**
 * The commands of this process on one key, as proposals to a register.
 *
 *     idle --command--> proposing --swapped, unchanged, failed--> proposing (more commands) or idle
 *                          ^  \--another process was first--> waiting
 *                          \-------- after a pause -------------/
 *
 * One proposal carries all commands that wait. It reads the state, applies the commands, and swaps
 * the state. If another process swapped first, all of it is repeated on the new state. So each
 * command is applied exactly once, or its outcome is unknown, as that of any unanswered request;
 * its id makes repetition harmless (I3). A proposal that changes nothing needs no swap. Then the
 * read answers those commands that came before it began; later commands wait for the next read.
 *
 * After a swap, the state and its version are kept. The next proposal then needs no read. If the
 * version is out of date, the register refuses the swap and the state is read again.
 */
import type { Clock } from '../../clock.js';
import type { Addressed } from '../../engine/serve.js';
import type { KeyCommand, KeyReply, Micros } from '../../engine/commands.js';
import { encodePush } from '../push-text.js';
import { StoreFailure } from '../port.js';
import { atCommit } from './commit-time.js';
import type { Register, Versioned } from './register.js';
import { bodyOf, decode, encode, forgetAt, type Loaded } from './state-codec.js';

/** The most commands of one proposal. */
const BATCH_MAX = 500;
/** After this number of lost races, the commands of a proposal fail. */
const ATTEMPTS_MAX = 100;
/** The first pause after a lost race, in ms. Later pauses grow to 8 times this. */
const PAUSE_MS = 2;
/** The same for a proposal that lets other processes proceed. */
const URGENT_PAUSE_MS = 0.5;
/** The most by which the clock of this process may run faster than that of the register. */
const DRIFT = 0.01;
/** A kept state is read again after this time, because its time is only estimated. */
const KEEP_MS = 5000;

/** The parts that all keys of a store share. */
export interface ProposalParts {
  readonly register: Register;
  readonly clock: Clock;
  /** A number from 0 (inclusive) to 1 (exclusive). */
  readonly fraction: () => number;
  /** The most characters of a state. */
  readonly stateMax: number;
}

interface Pending {
  readonly command: KeyCommand;
  readonly resolve: (reply: KeyReply) => void;
  readonly reject: (failure: unknown) => void;
}

/** A state with its version, and the local time at which its time was known. */
interface Current extends Loaded {
  readonly version: string;
  readonly storeTime: Micros;
  /** The upper bound of the time of the register. */
  readonly latest: Micros;
  /** False if an answer needs a swap, see `Versioned.settled`. */
  readonly settled: boolean;
  readonly knownAt: number;
}

/** The result of the commands of a proposal, before the swap. */
interface Applied {
  readonly replies: readonly (KeyReply | StoreFailure)[];
  readonly pushes: readonly Addressed[];
  readonly body: string;
  readonly time: Micros;
}

/** Commands that may add to a state, and that are refused if it would be too long. */
const GROWING: ReadonlySet<KeyCommand['op']> = new Set(['acquire', 'park', 'arrive', 'watch']);

/** Commands that may let other acquisitions proceed. */
const URGENT: ReadonlySet<KeyCommand['op']> = new Set([
  ...(['release', 'turn', 'renew', 'forceRelease', 'park', 'signal', 'endGeneration'] as const),
]);

export class Proposals {
  readonly #parts: ProposalParts;
  readonly #name: string;
  readonly #key: string;
  readonly #pending: Pending[] = [];
  #current: Current | undefined;
  #running = false;
  #writers: (() => void)[] = [];

  /** @param name the key of the register */
  constructor(parts: ProposalParts, name: string, key: string) {
    this.#parts = parts;
    this.#name = name;
    this.#key = key;
  }

  /** True if no command waits. */
  get idle(): boolean {
    return !this.#running;
  }

  /** Resolves when all commands so far are in a swap, or answered. */
  written(): Promise<void> {
    if (!this.#running) return Promise.resolve();
    return new Promise((resolve) => {
      this.#writers.push(resolve);
    });
  }

  add(command: KeyCommand): Promise<KeyReply> {
    const promise = new Promise<KeyReply>((resolve, reject) => {
      this.#pending.push({ command, resolve, reject });
    });
    if (!this.#running) {
      this.#running = true;
      // the other commands of this turn join the first proposal
      queueMicrotask(() => void this.#run());
    }
    return promise;
  }

  async #run(): Promise<void> {
    while (this.#pending.length > 0) {
      const batch = this.#pending.splice(0, BATCH_MAX);
      try {
        await this.#propose(batch);
      } catch (error) {
        this.#current = undefined;
        const failure = failureOf(error);
        for (const { reject } of batch) reject(failure);
      }
    }
    this.#running = false;
    this.#tellWriters();
  }

  #tellWriters(): void {
    for (const tell of this.#writers.splice(0)) tell();
  }

  async #propose(batch: Pending[]): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const kept = this.#kept();
      const asked = batch.length;
      const current = kept ?? (await this.#read());
      this.#current = undefined;
      // these came after the read began, so they take part in a swap only
      batch.push(...this.#pending.splice(0, BATCH_MAX - batch.length));
      const applied = this.#apply(current, batch);
      const unchanged = applied.body === current.body && applied.pushes.length === 0;
      if (unchanged && kept === undefined && current.settled) {
        this.#current = current;
        this.#pending.unshift(...batch.splice(asked));
        return answer(batch, applied, current.latest);
      }
      // an unchanged state answers only commands that came before it was read
      if (unchanged && current.settled) continue;
      if (await this.#swap(batch, current, applied)) return;
      await this.#pause(attempt, current, batch);
    }
    const message = `other processes changed the state first, ${ATTEMPTS_MAX} times in a row`;
    throw new StoreFailure(message, 'transient', undefined);
  }

  #kept(): Current | undefined {
    const current = this.#current;
    const age = this.#parts.clock.now() - (current?.knownAt ?? 0);
    return current !== undefined && age < KEEP_MS ? current : undefined;
  }

  async #read(): Promise<Current> {
    const { register, clock } = this.#parts;
    const read: Versioned = await register.read(this.#name);
    const { state, version, time: storeTime, latest = storeTime, settled = true } = read;
    const loaded = decode(this.#key, state);
    return { ...loaded, version, storeTime, latest, settled, knownAt: clock.now() };
  }

  /**
   * The time for commands on a state: never before its last command, and never ahead of the clock
   * of the register, so no lease ends early.
   */
  #time({ time, storeTime, knownAt }: Current): Micros {
    const since = (this.#parts.clock.now() - knownAt) * (1 - DRIFT);
    return Math.max(time, storeTime + Math.floor(since * 1000));
  }

  #apply(current: Current, batch: readonly Pending[]): Applied {
    const time = this.#time(current);
    const outcomes = batch.map(({ command }) => current.engine.apply(command, time));
    const body = bodyOf(this.#key, current.engine);
    if (body.length > this.#parts.stateMax && body.length > current.body.length) {
      return this.#applyBounded(current, batch, time);
    }
    const pushes = outcomes.flatMap((outcome) => outcome.pushes);
    return { replies: outcomes.map(({ reply }) => reply), pushes, body, time };
  }

  /** Applies the commands one by one, and refuses those that would make the state too long. */
  #applyBounded(current: Current, batch: readonly Pending[], time: Micros): Applied {
    const replies: (KeyReply | StoreFailure)[] = [];
    const pushes: Addressed[] = [];
    let { body } = current;
    let { engine } = decode(this.#key, encode(current.time, body));
    for (const { command } of batch) {
      const outcome = engine.apply(command, time);
      const after = bodyOf(this.#key, engine);
      const tooLong = after.length > this.#parts.stateMax && after.length > body.length;
      if (tooLong && GROWING.has(command.op)) {
        engine = decode(this.#key, encode(current.time, body)).engine;
        replies.push(this.#tooLong());
        continue;
      }
      body = after;
      replies.push(outcome.reply);
      pushes.push(...outcome.pushes);
    }
    Object.assign(current, { engine });
    return { replies, pushes, body, time };
  }

  #tooLong(): StoreFailure {
    const message =
      `the state of the key would have more than ${this.#parts.stateMax} characters; ` +
      'let fewer acquisitions hold or wait for one key, or use shorter labels';
    return new StoreFailure(message, 'refused', undefined);
  }

  /** True if the state was swapped; then all commands are answered. */
  async #swap(batch: readonly Pending[], current: Current, applied: Applied): Promise<boolean> {
    const { register, clock } = this.#parts;
    const { engine } = current;
    const { body, time, pushes } = applied;
    const swapping = register.swap(this.#name, current.version, {
      state: encode(time, body),
      forgetAt: forgetAt(this.#key, engine),
      messages: pushes.map(({ channel, push }) => ({ channel, text: encodePush(push) })),
    });
    if (this.#pending.length === 0) this.#tellWriters();
    const swapped = await swapping;
    if (swapped === false) return false;
    const { version, time: storeTime, latest = storeTime } = swapped;
    const after = { engine, body, time, version, storeTime, latest, settled: true };
    if (version !== '') this.#current = { ...after, knownAt: clock.now() };
    answer(batch, applied, latest);
    return true;
  }

  /**
   * Waits after a lost race. Proposals that let others proceed, and the one of the waiter at the
   * head of the queue, wait for a shorter time, so they usually win the next race.
   */
  #pause(attempt: number, { engine }: Current, batch: readonly Pending[]): Promise<void> {
    const { clock, fraction } = this.#parts;
    const head = engine.resource(this.#key)?.queue.at(0);
    const urgent = batch.some(({ command }) => {
      return URGENT.has(command.op) || ('id' in command && command.id === head);
    });
    const base = (urgent ? URGENT_PAUSE_MS : PAUSE_MS) * Math.min(attempt, 8);
    return new Promise((resolve) => clock.after(base * (0.5 + fraction()), resolve));
  }
}

function answer(batch: readonly Pending[], { replies }: Applied, stored: Micros): void {
  batch.forEach(({ resolve, reject }, index) => {
    const reply = replies[index] as KeyReply | StoreFailure;
    if (reply instanceof StoreFailure) reject(reply);
    else resolve(atCommit(reply, stored));
  });
}

function failureOf(error: unknown): StoreFailure {
  if (error instanceof StoreFailure) return error;
  return new StoreFailure(
    error instanceof Error ? error.message : String(error),
    'unanswered',
    error,
  );
}
