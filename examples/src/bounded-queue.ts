/**
 * A bounded queue. A producer waits on a condition while the queue is full, a consumer while it is
 * empty; neither polls.
 *
 * With REDIS_URL, two producers and two consumers run as processes and share a list in Redis.
 * Without REDIS_URL, they run as tasks of this process, and no server is needed.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Holdfast, memory } from 'holdfast';
import { Redis } from 'ioredis';

const CAPACITY = 3;
const ITEMS = 20;
const LIST = 'bounded-queue:items';

/** The shared list. It has no protection of its own. */
interface Items {
  length(): Promise<number>;
  push(item: string): Promise<unknown>;
  shift(): Promise<string | null>;
}

class BoundedQueue {
  readonly #mutex;
  readonly #notFull;
  readonly #notEmpty;
  readonly #items: Items;

  constructor(holdfast: Holdfast, items: Items) {
    this.#mutex = holdfast.mutex('bounded-queue');
    this.#notFull = this.#mutex.condition('not full');
    this.#notEmpty = this.#mutex.condition('not empty');
    this.#items = items;
  }

  async put(item: string): Promise<void> {
    await this.#mutex.run(async (lease) => {
      await this.#notFull.awaitUntil(lease, async () => (await this.#items.length()) < CAPACITY);
      await this.#items.push(item);
      await this.#notEmpty.signal(lease);
    });
  }

  async take(): Promise<string> {
    return this.#mutex.run(async (lease) => {
      await this.#notEmpty.awaitUntil(lease, async () => (await this.#items.length()) > 0);
      const item = (await this.#items.shift()) as string;
      await this.#notFull.signal(lease);
      return item;
    });
  }
}

async function work(role: string, queue: BoundedQueue): Promise<void> {
  for (let count = 1; count <= ITEMS; count++) {
    if (role.startsWith('producer')) await queue.put(`${role} ${count}`);
    else console.log(`${role} took ${await queue.take()}`);
  }
}

const roles = ['producer 1', 'producer 2', 'consumer 1', 'consumer 2'];
const url = process.env['REDIS_URL'];
const [own] = process.argv.slice(2);

if (url === undefined) {
  const list: string[] = [];
  const items: Items = {
    length: async () => list.length,
    push: async (item) => list.push(item),
    shift: async () => list.shift() ?? null,
  };
  await using holdfast = new Holdfast(memory());
  await Promise.all(roles.map((role) => work(role, new BoundedQueue(holdfast, items))));
  console.log(`remaining: ${list.length}`);
} else if (own === undefined) {
  const program = fileURLToPath(import.meta.url);
  await Promise.all(roles.map((role) => once(fork(program, [role]), 'exit')));
} else {
  const redis = new Redis(url);
  const items: Items = {
    length: () => redis.llen(LIST),
    push: (item) => redis.rpush(LIST, item),
    shift: () => redis.lpop(LIST),
  };
  const holdfast = new Holdfast(redis, { label: own });
  await work(own, new BoundedQueue(holdfast, items));
  await holdfast.close();
  redis.disconnect();
}
