/** Controls the processes of `workers/contender.ts`, which hold and wait on request. */
import { paced, until, type Worker } from 'holdfast-testkit';
import type { Event, Given, Want } from '../workers/contender.js';
import type { Stall, Stalled } from '../workers/stall.js';
import { startWorker } from './workers.js';

type Type = Event['type'];
/** The events of one type. */
export type EventOf<T extends Type> = Extract<Event, { type: T }>;

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

  /** Requests locks. */
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

  /** The first event of this type for a key. */
  event<T extends Type>(type: T, key: string): EventOf<T> | undefined {
    const events = this.worker.messages as unknown as readonly Event[];
    return events.find((event): event is EventOf<T> => event.type === type && event.key === key);
  }

  /** Waits for this event. */
  nextEvent<T extends Type>(
    type: T,
    key: string,
    within: number = paced(10_000),
  ): Promise<EventOf<T>> {
    const what = `event ${type} of process ${this.pid} for ${key}`;
    return until(() => this.event(type, key), { within, every: 2, what }) as Promise<EventOf<T>>;
  }

  async kill(): Promise<void> {
    this.worker.kill();
    await this.worker.exited;
  }
}
