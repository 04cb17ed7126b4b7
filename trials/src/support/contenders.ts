/** The trial's side of processes that hold and wait as they are told, `workers/contender.ts`. */
import { until, type Worker } from 'holdfast-testkit';
import type { Event, Given, Want } from '../workers/contender.js';
import type { Stall, Stalled } from '../workers/stall.js';
import { startWorker } from './workers.js';

type Type = Event['type'];
/** What it says of one kind. */
export type Said<T extends Type> = Extract<Event, { type: T }>;

export class Contender {
  readonly worker: Worker;

  private constructor(worker: Worker) {
    this.worker = worker;
  }

  static async start(given: Given): Promise<Contender> {
    return new Contender(await startWorker('contender', given));
  }

  get pid(): number {
    return this.worker.pid;
  }

  /** Asks for locks. */
  want(wants: readonly Want[]): Promise<void> {
    return this.worker.send({ type: 'want', wants });
  }

  release(...keys: string[]): Promise<void> {
    return this.worker.send({ type: 'release', keys });
  }

  async stall(stall: Stall): Promise<Stalled> {
    await this.worker.send({ type: 'stall', ...stall });
    return (await this.worker.next('stalled')) as unknown as Stalled;
  }

  /** What it said of a key, the first of the kind. */
  said<T extends Type>(type: T, key: string): Said<T> | undefined {
    const events = this.worker.messages as unknown as readonly Event[];
    return events.find((event): event is Said<T> => event.type === type && event.key === key);
  }

  /** The same, once it says so. */
  hears<T extends Type>(type: T, key: string, within = 10_000): Promise<Said<T>> {
    const what = `process ${this.pid} says ${type} of ${key}`;
    return until(() => this.said(type, key), { within, every: 2, what }) as Promise<Said<T>>;
  }

  async kill(): Promise<void> {
    this.worker.kill();
    await this.worker.exited;
  }
}
