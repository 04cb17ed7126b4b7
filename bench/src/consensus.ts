/**
 * Locks on etcd, beside bare transactions, a put that a watch sees, and the lock of etcd itself:
 * uncontended pairs, and hand-offs between two processes that take turns with one lock. All of them
 * send their requests with `node:http`, as Holdfast does; one row has bare transactions with
 * `fetch`.
 */
import { Agent, type IncomingMessage, request } from 'node:http';
import { argv } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Holdfast } from 'holdfast';
import { etcd } from 'holdfast-etcd';
import { percentile, sleep, startEtcd } from 'holdfast-testkit';
import { printLate } from './late.js';
import { now } from './orders.js';
import { finish, handOffs, printPairs, type Take, takeTurns, type Turn } from './pairs.js';
import type { Settings } from './settings.js';

const NAMES = ['bare', 'bare, fetch', 'holdfast', 'etcd lock'] as const;
type Name = (typeof NAMES)[number];

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** `npm run bench -- --etcd` */
export async function printEtcd(settings: Settings): Promise<void> {
  const { rounds, sizes } = settings;
  await using cluster = await startEtcd({ fsync: true });
  const [endpoint = ''] = cluster.endpoints;
  console.log(`etcd ${cluster.version}, one member, fsync`);
  const takes = new Map<Name, Take>();
  for (const name of NAMES) takes.set(name, await opened(name, endpoint));
  await printPairs(takes, ['bare', 'bare, fetch'], settings);
  console.log('two processes: p50 and p99 of a hand-off, or from a put to the watch of the other');
  const ms = 1000 * rounds * sizes.seconds;
  for (const parts of [
    ['puts', 'watches'],
    ['holdfast', 'holdfast'],
    ['etcd lock', 'etcd lock'],
  ] as const) {
    const args = parts.map((part) => [part, endpoint, `${ms}`]);
    const { gaps } = await handOffs(fileURLToPath(import.meta.url), args);
    const [p50, p99] = [percentile(gaps, 50), percentile(gaps, 99)];
    console.log(`  ${parts[0].padEnd(12)} ${p50.toFixed(2)} ms, ${p99.toFixed(2)} ms`);
  }
  await printLate(() => new Holdfast(etcd(endpoint)), settings);
  process.exit();
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

/** A process that puts a value every 5 ms. */
async function puts(endpoint: string, ms: number): Promise<Turn[]> {
  const post = poster(endpoint);
  const turns: Turn[] = [];
  await sleep(500);
  for (const end = now() + ms; now() < end; await sleep(5)) {
    const at = now();
    turns.push([at, at, at]);
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
      turns.push([now(), now(), now()]);
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
        : takeTurns(await opened(part as Name, endpoint), ms);
  finish(await turns);
}
