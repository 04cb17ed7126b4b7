/**
 * Locks on etcd, beside bare transactions, a put that a watch sees, and the lock of etcd itself:
 * uncontended pairs, and hand-offs between two processes that take turns with one lock. All of them
 * send their requests with `node:http`, as Holdfast does; one row has bare transactions with
 * `fetch`.
 */
import { fork } from 'node:child_process';
import { Agent, type IncomingMessage, request } from 'node:http';
import { argv } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Holdfast } from 'holdfast';
import { etcd } from 'holdfast-etcd';
import { percentile, sleep, startEtcd } from 'holdfast-testkit';
import { now } from './orders.js';
import type { Settings } from './settings.js';

const NAMES = ['bare', 'bare, fetch', 'holdfast', 'etcd lock'] as const;
type Name = (typeof NAMES)[number];
type Take = () => Promise<() => Promise<unknown>>;
/** What a process of two does. */
type Part = Name | 'puts' | 'watches';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** `npm run bench -- --etcd` */
export async function printEtcd({ rounds, sizes }: Settings): Promise<void> {
  await using cluster = await startEtcd({ fsync: true });
  const [endpoint = ''] = cluster.endpoints;
  const pairs = new Map<Name, Measured[]>(NAMES.map((name) => [name, []]));
  const takes = await Promise.all(NAMES.map((name) => opened(name, endpoint)));
  // the first pairs open connections, and wait for the clock
  for (const take of takes) await pairsOf(take, 3000);
  for (let round = 0; round < rounds * 5; round++) {
    for (const [at, name] of NAMES.entries()) {
      pairs.get(name)?.push(await pairsOf(takes[at] as Take, (sizes.seconds * 1000) / 5));
    }
  }
  console.log(`etcd ${cluster.version}, one member, fsync`);
  console.log('uncontended pairs, medians: a second, part of two bare transactions, CPU time');
  const rateOf = (name: Name): number => median(pairs.get(name) ?? [], 'rate');
  for (const [name, measured] of pairs) {
    const rate = rateOf(name);
    const partOf = (bare: Name): string => (rate / rateOf(bare)).toFixed(3);
    const parts = `${partOf('bare')}, ${partOf('bare, fetch')}`;
    const cpu = median(measured, 'cpu').toFixed(0).padStart(5);
    console.log(`  ${name.padEnd(12)} ${rate.toFixed(0).padStart(6)}  ${parts}  ${cpu} µs`);
  }
  console.log('two processes: p50 and p99 of a hand-off, or from a put to the watch of the other');
  const ms = 1000 * rounds * sizes.seconds;
  for (const parts of [
    ['puts', 'watches'],
    ['holdfast', 'holdfast'],
    ['etcd lock', 'etcd lock'],
  ] as const) {
    const gaps = await gapsOf(parts, endpoint, ms);
    const [p50, p99] = [percentile(gaps, 50), percentile(gaps, 99)];
    console.log(`  ${parts[0].padEnd(12)} ${p50.toFixed(2)} ms, ${p99.toFixed(2)} ms`);
  }
  process.exit();
}

/** Pairs for a while: how many a second, and the processor time of this process for one, in µs. */
interface Measured {
  readonly rate: number;
  readonly cpu: number;
}

function median(all: readonly Measured[], what: keyof Measured): number {
  const values = all.map((one) => one[what]);
  return percentile(values, 50);
}

type Post = <T>(path: string, body: object) => Promise<T>;

const agent = new Agent({ keepAlive: true });

/** Resolves to the answer when it begins. */
function sent(url: string, body: object, signal?: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', agent, ...(signal && { signal }) };
    request(url, options, resolve).on('error', reject).end(JSON.stringify(body));
  });
}

const poster =
  (endpoint: string): Post =>
  async <T>(path: string, body: object) => {
    const answer = await sent(`${endpoint}/v3/${path}`, body);
    return new Promise<T>((resolve, reject) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => (text += part));
      answer.on('end', () => resolve(JSON.parse(text) as T));
      answer.on('error', reject);
    });
  };

const fetchPoster =
  (endpoint: string): Post =>
  async <T>(path: string, body: object) => {
    const init = { method: 'POST', body: JSON.stringify(body) };
    return (await (await fetch(`${endpoint}/v3/${path}`, init)).json()) as T;
  };

/** Takes the lock of a key. Resolves to its release. */
async function opened(name: Name, endpoint: string): Promise<Take> {
  const post = poster(endpoint);
  if (name === 'bare') return bare(post, name);
  if (name === 'bare, fetch') return bare(fetchPoster(endpoint), name);
  if (name === 'holdfast') {
    const holdfast = new Holdfast(etcd(endpoint), { localHandOffs: 0 });
    return async () => {
      const lease = await holdfast.mutex('one').acquire();
      return () => lease.release();
    };
  }
  const { ID: lease } = await post<{ ID: string }>('lease/grant', { TTL: 600 });
  return async () => {
    const { key } = await post<{ key: string }>('lock/lock', { name: base64('one'), lease });
    return () => post('lock/unlock', { key });
  };
}

/** Two transactions on one key that name its revision, as a lock and a release must make them. */
function bare(post: Post, name: Name): Take {
  const key = base64(name);
  const value = base64('x'.repeat(200));
  let mod_revision = '0';
  const swap = async (): Promise<void> => {
    const { header } = await post<{ header: { revision: string } }>('kv/txn', {
      compare: [{ result: 'EQUAL', target: 'MOD', key, mod_revision }],
      success: [{ request_put: { key, value } }],
    });
    mod_revision = header.revision;
  };
  return async () => {
    await swap();
    return swap;
  };
}

async function pairsOf(take: Take, ms: number): Promise<Measured> {
  const [start, before] = [now(), process.cpuUsage()];
  let count = 0;
  for (; now() - start < ms; count++) await (await take())();
  const { user, system } = process.cpuUsage(before);
  return { rate: (1000 * count) / (now() - start), cpu: (user + system) / count };
}

/** When a turn began, and when it ended: its release, or the sending of its put. */
type Turn = readonly [from: number, to: number];

/** From the end of each turn to the next one, if that is of the other process. */
async function gapsOf(
  parts: readonly [Part, Part],
  endpoint: string,
  ms: number,
): Promise<number[]> {
  const workers = parts.map(
    (part) =>
      new Promise<Turn[]>((resolve, reject) => {
        const worker = fork(fileURLToPath(import.meta.url), [part, endpoint, `${ms}`]);
        worker.on('message', resolve);
        worker.on('error', reject);
      }),
  );
  const all = (await Promise.all(workers)).flatMap((turns, who) =>
    turns.map((turn) => ({ turn, who })),
  );
  all.sort((a, b) => a.turn[0] - b.turn[0]);
  return all.flatMap(({ turn, who }, at) => {
    const before = all[at - 1];
    return before === undefined || before.who === who ? [] : [turn[0] - before.turn[1]];
  });
}

/** A process that takes turns without a pause. */
async function takeTurns(name: Name, endpoint: string, ms: number): Promise<Turn[]> {
  const take = await opened(name, endpoint);
  await (await take())();
  const turns: Turn[] = [];
  const end = now() + ms;
  while (now() < end) {
    const release = await take();
    const from = now();
    await sleep(1);
    turns.push([from, now()]);
    await release();
  }
  return turns;
}

/** A process that puts a value every 5 ms. */
async function puts(endpoint: string, ms: number): Promise<Turn[]> {
  const post = poster(endpoint);
  const turns: Turn[] = [];
  await sleep(500);
  for (const end = now() + ms; now() < end; await sleep(5)) {
    const at = now();
    turns.push([at, at]);
    await post('kv/put', { key: base64('put'), value: base64('x'.repeat(200)) });
  }
  return turns;
}

/** A process that watches the key of the other. */
async function watches(endpoint: string, ms: number): Promise<Turn[]> {
  const body = { create_request: { key: base64('put') } };
  const signal = AbortSignal.timeout(ms + 1500);
  const turns: Turn[] = [];
  const stream = await sent(`${endpoint}/v3/watch`, body, signal);
  try {
    for await (const _ of stream) {
      turns.push([now(), now()]);
    }
  } catch {
    // its time is over
  }
  // the first part says that etcd watches
  return turns.slice(1);
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  const [part, endpoint = '', text] = argv.slice(2);
  const ms = Number(text);
  const turns =
    part === 'puts'
      ? puts(endpoint, ms)
      : part === 'watches'
        ? watches(endpoint, ms)
        : takeTurns(part as Name, endpoint, ms);
  process.send?.(await turns, () => process.exit());
}
