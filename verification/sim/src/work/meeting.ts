/**
 * Producers and consumers with a condition, and tasks that count, wait and meet at gates.
 *
 * A producer signals, and then adds an item to the stock under the same lease. So each item has
 * woken a condition waiter, or there was none. A consumer waits until the stock has an item, and
 * takes it. After the faults, the stock is closed and all condition waiters are woken.
 *
 * In the history, a wait ends one attempt and starts a new one: the lease has a new id.
 */
import type { Happening } from 'holdfast-checker';
import type { AcquireOptions, Lease, Mutex } from '../../../../packages/holdfast/dist/index.js';
import type { TaskPlan } from '../plan/plan.js';
import type { World } from '../world/world.js';
import type { Attempt } from './attempt.js';

const MEETING: ReadonlySet<string> = new Set<TaskPlan['primitive']>([
  ...(['consume', 'produce', 'settle', 'latch', 'count', 'barrier'] as const),
]);

export function meets({ primitive }: TaskPlan): boolean {
  return MEETING.has(primitive);
}

/** The errors that each of these tasks may get. */
const CODES = [
  ...['HOLDFAST_TIMEOUT', 'HOLDFAST_ABORTED', 'HOLDFAST_REFUSED', 'HOLDFAST_LOST'],
  ...['HOLDFAST_UNREACHABLE', 'HOLDFAST_CLOSED', 'HOLDFAST_UNCERTAIN'],
];
/** The retention of a gate: a latch exists for the whole simulation. */
const LATCH_MS = 86_400_000;
/** The delay between two attempts to close a stock. */
const AGAIN_MS = 1000;

export async function meet(world: World, attempt: Attempt): Promise<void> {
  const { primitive } = attempt.task;
  const one = new Meeting(world, attempt);
  try {
    if (primitive === 'consume' || primitive === 'produce') await one.trade();
    else if (primitive === 'settle') await one.settle();
    else await one.gate();
  } catch (error) {
    one.expect(error, primitive === 'latch' || primitive === 'count' || primitive === 'barrier');
  }
  attempt.overAt = attempt.client.process.time;
  world.ended(attempt);
  world.watch.visit(attempt.task.key);
}

class Meeting {
  readonly #world: World;
  readonly #attempt: Attempt;
  readonly #task: TaskPlan;
  /** Its name in the history, which changes after each wait. */
  #name: string;
  #waits = 0;
  /** Its lease in the history. */
  #believed = '';

  constructor(world: World, attempt: Attempt) {
    this.#world = world;
    this.#attempt = attempt;
    this.#task = attempt.task;
    this.#name = attempt.name;
  }

  async trade(): Promise<void> {
    const lease = await this.#acquire();
    try {
      if (lease.held)
        await (this.#task.primitive === 'consume' ? this.#consume(lease) : this.#produce(lease));
    } catch (error) {
      this.expect(error, false);
    }
    await this.#release(lease);
  }

  /** Closes the stock, with retries until it succeeds: after that no consumer waits forever. */
  async settle(): Promise<void> {
    const { key } = this.#task;
    const stock = this.#world.meetings.stock(key);
    this.#unwoken();
    while (!stock.closed) {
      const lease = await this.#acquire();
      try {
        await this.#mutex.condition('stocked').signalAll(lease);
        if (lease.held) stock.closed = true;
      } catch (error) {
        this.expect(error, false);
      }
      await this.#release(lease);
      if (stock.closed) return;
      await this.#attempt.client.process.sleep(AGAIN_MS);
      this.#rename();
    }
  }

  async gate(): Promise<void> {
    const { primitive, key, capacity, weight, ttl } = this.#task;
    const { holdfast } = this.#attempt.client;
    const gate = this.#world.meetings.gate(key);
    const forgetful = this.#world.plan.profile === 'amnesia';
    if (primitive === 'barrier') {
      gate.asked += 1;
      const passage = await holdfast.barrier(key, { parties: capacity, ttl }).await(this.#limits());
      const wrong = gate.pass(passage, capacity);
      if (wrong !== undefined && !forgetful) this.#world.report('barrier', key, wrong);
      return;
    }
    const latch = holdfast.latch(key, { count: capacity, ttl: LATCH_MS });
    if (primitive === 'count') {
      gate.asked += weight;
      await latch.countDown(weight);
      return;
    }
    await latch.await(this.#limits());
    if (gate.asked >= capacity) return;
    this.#world.report('latch', key, `${this.#name} passed after ${gate.asked} of ${capacity}`);
  }

  expect(error: unknown, atGate: boolean): string {
    const code = String((error as { code?: unknown } | null)?.code);
    // in a plan of gates, each process keeps its arrival alive
    const mayBreak = atGate && this.#world.plan.profile !== 'gates';
    if (!CODES.includes(code) && !(mayBreak && code === 'HOLDFAST_BROKEN')) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#world.report('error', this.#task.key, `${this.#task.name}: ${text}`);
    }
    return code;
  }

  async #consume(lease: Lease): Promise<void> {
    const stock = this.#world.meetings.stock(this.#task.key);
    const limits = this.#limits();
    const clock = this.#attempt.client.process;
    const until = clock.now() + (limits.wait ?? Number.POSITIVE_INFINITY);
    while (stock.count === 0 && !stock.closed) {
      const wait = until - clock.now();
      if (wait <= 0) return;
      await this.#await(lease, { ...limits, ...(limits.wait === undefined ? {} : { wait }) });
      if (!lease.held) break;
    }
    if (!(await this.#alone(lease)) || stock.count === 0) {
      if (!lease.held) stock.excused = true;
      return;
    }
    stock.count -= 1;
  }

  async #produce(lease: Lease): Promise<void> {
    const stock = this.#world.meetings.stock(this.#task.key);
    if (!(await this.#alone(lease))) return;
    await this.#mutex.condition('stocked').signal(lease);
    if (lease.held) stock.count += 1;
  }

  /** Asserts that no other task changes the stock while the lease is held. */
  async #alone(lease: Lease): Promise<boolean> {
    const { key, steps } = this.#task;
    const stock = this.#world.meetings.stock(key);
    const before = stock.count;
    for (const step of steps) {
      if ('ms' in step) await this.#attempt.client.process.sleep(step.ms);
    }
    if (!lease.held) return false;
    if (this.#believed === lease.id) this.#note({ e: 'hold', ...this.#about });
    if (stock.count !== before && this.#world.plan.profile !== 'amnesia') {
      this.#world.report(
        'torn',
        key,
        `${before} became ${stock.count} while ${this.#name} held it`,
      );
    }
    return true;
  }

  async #await(lease: Lease, limits: { wait?: number; signal?: AbortSignal }): Promise<void> {
    const { id } = lease;
    this.#note({ e: 'release', ...this.#about });
    this.#believed = '';
    let outcome = 'uncertain';
    try {
      await this.#mutex.condition('stocked').await(lease, limits);
      outcome = 'freed';
    } finally {
      this.#note({ e: 'released', ...this.#about, outcome });
      this.#rename();
      if (lease.held && lease.id !== id) {
        this.#ask({ back: true });
        this.#granted(lease);
      }
    }
  }

  /** Asserts that each item in the stock has woken a condition waiter, if there was one. */
  #unwoken(): void {
    const { plan, server, meetings, scheduler } = this.#world;
    const { key } = this.#task;
    const { count, excused, closed } = meetings.stock(key);
    const resource = server.engine.resource(key);
    if (count === 0 || excused || closed || plan.profile === 'amnesia') return;
    if (resource === undefined || resource.holders.size + resource.waiters.size > 0) return;
    for (const { id } of resource.parking.all()) {
      const conditionWaiter = this.#world.watch.identities.attempt(id);
      if (
        conditionWaiter === undefined ||
        conditionWaiter.over ||
        !conditionWaiter.client.process.alive
      )
        continue;
      if (conditionWaiter.client.clearSince > scheduler.now - AGAIN_MS) continue;
      this.#world.report('unwoken', key, `${count} in stock while ${conditionWaiter.name} waits`);
    }
  }

  async #acquire(): Promise<Lease> {
    const { ttl, renew, fair, name } = this.#task;
    this.#ask();
    // a consumer's limits apply to its wait for an item
    const limits = this.#task.primitive === 'produce' ? this.#limits() : {};
    const options: AcquireOptions = { ttl, renew, fair, label: name, ...limits };
    try {
      const lease = await this.#mutex.acquire(options);
      this.#granted(lease);
      return lease;
    } catch (error) {
      this.#note({ e: 'fail', ...this.#about, code: this.expect(error, false) });
      throw error;
    }
  }

  async #release(lease: Lease): Promise<void> {
    const known = this.#believed === lease.id;
    if (known) this.#note({ e: 'release', ...this.#about });
    let outcome = 'uncertain';
    try {
      outcome = await lease.release();
    } catch (error) {
      this.expect(error, false);
    }
    if (known) this.#note({ e: 'released', ...this.#about, outcome });
    if (lease.held) this.#world.report('zombie', this.#task.key, `${this.#name} still holds`);
  }

  #ask(more: { back?: boolean } = {}): void {
    const { fair } = this.#task;
    this.#note({ e: 'ask', ...this.#about, weight: 1, capacity: 1, fair, ...more });
  }

  #granted(lease: Lease): void {
    const { id, fence, held } = lease;
    this.#believed = id;
    this.#attempt.lease = lease;
    this.#note({ e: 'grant', ...this.#about, id, fence, held });
    this.#world.granted(this.#attempt, lease);
  }

  #limits(): { wait?: number; signal?: AbortSignal } {
    const { wait, abort } = this.#task;
    const controller = new AbortController();
    if (abort !== undefined) {
      const give = (): void => controller.abort(new Error('changed its mind'));
      this.#attempt.client.process.later(abort, give);
    }
    return {
      ...(wait === undefined ? {} : { wait }),
      ...(abort === undefined ? {} : { signal: controller.signal }),
    };
  }

  #rename(): void {
    this.#waits += 1;
    this.#name = `${this.#task.name}/${this.#waits}`;
  }

  get #mutex(): Mutex {
    return this.#attempt.client.holdfast.mutex(this.#task.key);
  }

  get #about(): { readonly k: string; readonly a: string } {
    return { k: this.#task.key, a: this.#name };
  }

  #note(what: Happening): void {
    const { process, name } = this.#attempt.client;
    this.#world.history.note(process.time, name, what);
  }
}
