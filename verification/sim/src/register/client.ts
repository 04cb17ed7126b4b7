/**
 * The register as one process sees it. Each call may be lost, arrive late or twice, or fail with an
 * error while the server executes it. A call without an answer is given up after a time, here or by
 * the library.
 *
 * It asserts that a version that the library was given is used for one swap (`repeated`).
 */
import type {
  Change,
  HandedOver,
  MessageListener,
  Register,
  RegisterError,
  RegisterErrorKind,
  Scanned,
  Swap,
  Swapped,
  Versioned,
} from '../../../../packages/holdfast/dist/register.js';
import type { Random } from '../base/random.js';
import type { Scheduler } from '../base/scheduler.js';
import type { Line } from '../common/line.js';
import type { Process } from '../world/process.js';
import type { RegisterPlan } from './plan.js';
import { broughtBy, NONE, type RegisterServer } from './server.js';

/** A strange message comes after this time, in ms, at most. */
const STRANGE_MS = 5000;

export interface ClientParts {
  readonly plan: RegisterPlan;
  readonly server: RegisterServer;
  readonly process: Process;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly line: Line;
  readonly RegisterError: new (kind: RegisterErrorKind, message: string) => RegisterError;
  report(kind: string, text: string): void;
}

export class SimulatedRegister implements Register {
  readonly label = 'simulated';
  readonly listen?: NonNullable<Register['listen']>;
  readonly overtake?: NonNullable<Register['overtake']>;
  readonly handsOver?: NonNullable<Register['handsOver']>;
  readonly readMany?: NonNullable<Register['readMany']>;
  readonly swapMany?: NonNullable<Register['swapMany']>;
  /** Until this time the client of the process is closed. */
  closedUntil = 0;
  readonly #parts: ClientParts;
  /** How often a version was given to the library, without a swap since. */
  readonly #given = new Map<string, number>();
  /** The versions whose grants failed, by their keys, until the next read. */
  readonly #failed = new Map<string, string>();

  readonly #receivers = new Set<(key: string, state: HandedOver) => void>();
  readonly #brought = new Set<string>();

  constructor(parts: ClientParts) {
    this.#parts = parts;
    if (parts.plan.overtakes) this.overtake = (key) => this.#overtake(key);
    if (parts.plan.handsOver) this.handsOver = (receive) => this.#handsOver(receive);
    if (parts.plan.messages) this.listen = (channel, to) => this.#listen(channel, to);
    if (!parts.plan.batches) return;
    this.readMany = (keys) => this.#readAll(keys);
    this.swapMany = (swaps) => this.#swapAll(swaps);
  }

  async read(key: string): Promise<Versioned> {
    const [read] = await this.#readAll([key]);
    return read as Versioned;
  }

  async swap(key: string, version: string, change: Change): Promise<Swapped> {
    const [swapped] = await this.#swapAll([{ key, version, change }]);
    return swapped as Swapped;
  }

  async *scan(prefix: string): AsyncIterable<Scanned> {
    yield* await this.#call(() => this.#parts.server.scan(prefix));
  }

  /** Runs at the server, with the network of this process. */
  run<T>(request: () => T): Promise<T> {
    return this.#call(request);
  }

  async #readAll(keys: readonly string[]): Promise<Versioned[]> {
    return this.#readings(keys, (key) => this.#parts.server.read(key));
  }

  async #overtake(key: string): Promise<Versioned> {
    const [read] = await this.#readings([key], () => this.#parts.server.overtake(key));
    return read as Versioned;
  }

  async #readings(
    keys: readonly string[],
    reading: (key: string) => Versioned,
  ): Promise<Versioned[]> {
    const bounded = this.#bounds();
    const reads = await this.#call(() => keys.map(reading), this.#parts.plan.endless);
    return reads.map((read, at) => {
      const key = keys[at] as string;
      this.#give(key, read.version);
      const isSame = this.#failed.get(key) === read.version;
      this.#failed.delete(key);
      return bounded(isSame ? { ...read, heldBack: true } : read);
    });
  }

  async #swapAll(swaps: readonly Swap[]): Promise<Swapped[]> {
    const { server, plan, RegisterError } = this.#parts;
    for (const { key, version } of swaps) this.#take(key, version);
    const bounded = this.#bounds();
    const swap = (): Swapped[] =>
      swaps.map(({ key, version, change }) => server.swap(key, version, change));
    const results = await this.#call(swap, plan.endless).catch((error: unknown) => {
      // none took effect, so each may be tried alone
      const isRefused = error instanceof RegisterError && error.kind === 'refused';
      if (isRefused && swaps.length > 1)
        for (const { key, version } of swaps) this.#give(key, version);
      throw error;
    });
    return results.map((swapped, at) => {
      const { key, version, change } = swaps[at] as Swap;
      if (swapped !== false) {
        this.#give(key, swapped.version);
        return bounded(swapped);
      }
      if (version !== NONE && change.grants !== false) this.#failed.set(key, version);
      return false;
    });
  }

  #handsOver(receive: (key: string, state: HandedOver) => void): () => void {
    this.#receivers.add(receive);
    return () => void this.#receivers.delete(receive);
  }

  #arrived(sent: string, to: MessageListener): void {
    const all = broughtBy(sent);
    if (all === undefined) return to.message(sent);
    const { text, key, state, version } = all;
    for (const receive of this.#receivers) {
      // the second time, it must not be used again
      if (!this.#brought.has(version)) this.#give(key, version);
      this.#brought.add(version);
      receive(key, { state, version });
    }
    to.message(text);
  }

  /** What is read then is older, so a state that came with a message may be used again. */
  restored(): void {
    this.#brought.clear();
  }

  #give(key: string, version: string): void {
    const name = `${key} ${version}`;
    if (version !== '') this.#given.set(name, (this.#given.get(name) ?? 0) + 1);
  }

  #take(key: string, version: string): void {
    const name = `${key} ${version}`;
    const left = this.#given.get(name) ?? 0;
    if (left === 0) this.#parts.report('repeated', `a second swap of version ${name}`);
    if (left > 1) this.#given.set(name, left - 1);
    else this.#given.delete(name);
  }

  /** Called before a call: adds the bounds of the clock to its answer. */
  #bounds(): <T extends { readonly time: number }>(answer: T) => T {
    const { plan, server, random } = this.#parts;
    const most = 1000 * plan.bounds;
    if (most === 0) return (answer) => answer;
    const [before, after] = [random.between(0, most), random.between(0, most)];
    const latest = Math.ceil(server.time + after);
    return (answer) => ({ ...answer, time: Math.floor(answer.time - before), latest });
  }

  #call<T>(execute: () => T, endless = false): Promise<T> {
    const { plan, server, process, scheduler, line, RegisterError } = this.#parts;
    const request = async (): Promise<T> => {
      const { kind, until } = server.outage;
      const isRefused = kind === 'refused' || kind === 'transient';
      if (isRefused && until > scheduler.now) throw new RegisterError(kind, 'the server refuses');
      return execute();
    };
    return new Promise((resolve, reject) => {
      const giveUp = (): void =>
        reject(new RegisterError('unanswered', `no answer in ${plan.timeout} ms`));
      const timer = endless ? undefined : process.later(plan.timeout, giveUp);
      const end = (): void => timer?.cancel();
      const broken = this.#broken();
      // the request may have been sent before
      if (broken === undefined || this.#parts.random.chance(0.5)) {
        line.send(request).then(
          (answer) => [end(), resolve(answer)],
          (error: Error) => [end(), reject(error)],
        );
      }
      if (broken === undefined) return;
      process.later(1, () => [end(), reject(broken)]);
    });
  }

  /** The error of a call whose connection breaks. */
  #broken(): Error | undefined {
    const { server, scheduler, random, RegisterError } = this.#parts;
    const { now } = scheduler;
    if (this.closedUntil > now) return new RegisterError('closed', 'the client is closed');
    if (server.outage.until <= now || server.outage.kind !== 'unanswered') return undefined;
    if (random.chance(0.5)) return new Error('socket hang up');
    return new RegisterError('unanswered', 'the connection broke');
  }

  async #listen(channel: string, to: MessageListener): Promise<{ close(): Promise<void> }> {
    const { server, process, line, random, plan, scheduler } = this.#parts;
    const message = (sent: string): void => {
      const arrive = (): void => line.deliver(() => this.#arrived(sent, to));
      if (!random.chance(plan.strange)) return arrive();
      const later = random.spread(1, STRANGE_MS);
      if (random.chance(0.5)) arrive();
      scheduler.after(later, () => process.alive && arrive());
    };
    const up = (): void => process.deliver('message', () => to.up());
    const down = (): void => process.deliver('message', () => to.down());
    const listener = { message, up, down };
    await this.#call(() => {
      const all = server.listeners.get(channel) ?? new Set();
      server.listeners.set(channel, all.add(listener));
    });
    to.up();
    return { close: async () => void server.listeners.get(channel)?.delete(listener) };
  }
}
