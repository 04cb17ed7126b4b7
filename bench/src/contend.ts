/**
 * Many programs that ask for one lock at the same moment, each once, on one server and on a quorum
 * of three. Each has an instance of its own; they share the clients. Counts the requests to all
 * servers, the time until the last one has had the lock, and leases that were lost.
 */
import { Holdfast, quorum } from 'holdfast';
import { type Server, sleep, startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { readServer, since } from './server-readings.js';
import type { Settings } from './settings.js';

const SIZES = { quick: [1, 10], full: [10, 100, 300, 1000] };
const KEY = 'bench:contend';
/** How long each one works under the lock. */
const WORK_MS = 1;
/** Instances are warmed up so many at a time. */
const WARM_AT_ONCE = 5;

interface Contended {
  readonly ms: number;
  /** Requests to all servers for each grant. */
  readonly requests: number;
  readonly cpu: number;
  readonly lost: number;
}

export async function printContenders({ server, quick }: Settings): Promise<void> {
  const servers = await Promise.all([0, 1, 2, 3].map(() => startServer({ server })));
  const [one, ...members] = servers as [Server, ...Server[]];
  try {
    console.log(
      'contenders for one lock, 1 ms of work each: requests and server µs for each grant',
    );
    console.log('  contenders  one server                    quorum of three               time');
    for (const count of SIZES[quick ? 'quick' : 'full']) {
      const single = await contend([one], count);
      const many = await contend(members, count);
      const ratio = `${(many.ms / single.ms).toFixed(1)} x`;
      console.log(`  ${`${count}`.padStart(10)}  ${row(single)}  ${row(many)}  ${ratio}`);
    }
  } finally {
    await Promise.all(servers.map((each) => each.stop()));
  }
}

function row({ ms, requests, cpu, lost }: Contended): string {
  const text = `${ms.toFixed(0)} ms, ${requests.toFixed(1)}, ${cpu.toFixed(0)} µs, ${lost} lost`;
  return text.padEnd(28);
}

async function contend(servers: readonly Server[], count: number): Promise<Contended> {
  let lost = 0;
  const clients = servers.map(({ host, port }) => new Redis({ host, port }));
  const [only] = clients as [Redis];
  const instances = Array.from({ length: count }, () => {
    const store = clients.length === 1 ? only : quorum(clients, { durable: true });
    return new Holdfast(store, { onLost: () => (lost += 1) });
  });
  try {
    for (let at = 0; at < count; at += WARM_AT_ONCE) {
      const some = instances.slice(at, at + WARM_AT_ONCE);
      await Promise.all(some.map(async (each, nth) => warm(each, `${KEY}:own:${at + nth}`)));
    }
    const before = await Promise.all(servers.map((each) => readServer(each)));
    const from = performance.now();
    await Promise.all(
      instances.map(async (each) => each.mutex(KEY).run(() => sleep(WORK_MS), { wait: 300_000 })),
    );
    const ms = performance.now() - from;
    const readings = await Promise.all(
      servers.map(async (each, at) => since(before[at] as never, await readServer(each))),
    );
    const sum = (pick: (one: (typeof readings)[number]) => number): number =>
      readings.reduce((total, each) => total + pick(each), 0) / count;
    return { ms, requests: sum(({ scripts }) => scripts), cpu: sum((each) => each.cpu), lost };
  } finally {
    await Promise.all(instances.map(async (each) => each.close()));
    for (const client of clients) client.disconnect();
  }
}

/** Opens its connections, and makes its code warm, with a lock of its own. */
async function warm(instance: Holdfast, key: string): Promise<void> {
  await instance.warmUp();
  await instance.mutex(key).run(() => undefined);
}
