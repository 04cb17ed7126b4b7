/**
 * Many acquisitions and releases in one turn of the event loop of one process, each of its own
 * lock: whether all succeed, how many a second, and the peak of the memory of the process. Each
 * size runs in a process of its own. The ttl is long: a process that makes a million calls in one
 * turn does not renew its leases meanwhile.
 */
import { execFile } from 'node:child_process';
import { argv } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Lease } from 'holdfast';
import { connected } from './connected.js';
import { type Kind, startSite } from './scale/sites.js';
import type { Settings } from './settings.js';

const TTL_MS = 3_600_000;

/** What one process found. */
interface Burst {
  readonly count: number;
  /** Calls of each kind that failed, and the first message. */
  readonly failed: { readonly acquire: number; readonly release: number; readonly why: string };
  /** Leases that were lost while they were held, or that the release found lost. */
  readonly lost: number;
  /** In ms. */
  readonly acquired: number;
  readonly released: number;
  /** In MB, before the burst and at the peak. */
  readonly before: number;
  readonly peak: number;
}

const SIZES: Partial<Record<Kind, readonly number[]>> = {
  one: [100_000, 1_000_000],
  quorum: [10_000, 100_000],
};
const QUICK: typeof SIZES = { one: [10_000], quorum: [1000] };

/** `npm run bench -- --burst` */
export async function printBursts({ kinds, server, quick }: Settings): Promise<void> {
  console.log('acquisitions, and then releases, of one turn of one process, one key each');
  for (const kind of kinds) {
    const sizes = (quick ? QUICK : SIZES)[kind];
    if (sizes === undefined) continue;
    console.log(kind);
    await using site = await startSite(kind, server);
    for (const count of sizes) {
      const args = [fileURLToPath(import.meta.url), site.address.ports.join(','), `${count}`];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      print(JSON.parse(stdout) as Burst);
    }
  }
}

function print(burst: Burst): void {
  const { count, failed, lost, acquired, released, before, peak } = burst;
  const rate = (ms: number): string => `${Math.round(count / (ms / 1000))} /s`;
  console.log(`  ${count}: acquisitions ${rate(acquired)}, releases ${rate(released)}`);
  console.log(
    `    failed: ${failed.acquire} acquisitions, ${failed.release} releases; lost: ${lost}`,
  );
  if (failed.why !== '') console.log(`    ${failed.why}`);
  const each = Math.round(((peak - before) * 2 ** 20) / count);
  console.log(`    memory ${before} MB before, ${peak} MB at the peak: ${each} bytes a call`);
}

async function burst(ports: readonly number[], count: number): Promise<Burst> {
  let lost = 0;
  const options = { ttl: TTL_MS, onLost: () => void (lost += 1) };
  const { clients, holdfast } = connected(ports, options);
  await (await holdfast.mutex('first').acquire()).release();
  const mega = (bytes: number): number => Math.round(bytes / 2 ** 20);
  const before = mega(process.memoryUsage().rss);
  const failed = { acquire: 0, release: 0, why: '' };
  const note = (what: 'acquire' | 'release') => (error: unknown) => {
    failed[what] += 1;
    failed.why ||= String(error);
  };
  const leases: Lease[] = [];
  const all = async (calls: Iterable<Promise<unknown>>): Promise<number> => {
    const start = performance.now();
    await Promise.all(calls);
    return performance.now() - start;
  };
  const acquired = await all(
    (function* () {
      for (let at = 0; at < count; at++) {
        const taken = holdfast.mutex(`burst ${at}`).acquire();
        yield taken.then((lease) => void leases.push(lease), note('acquire'));
      }
    })(),
  );
  const released = await all(
    (function* () {
      for (const lease of leases) {
        yield lease.release().then((outcome) => {
          if (outcome === 'lost') lost += 1;
        }, note('release'));
      }
    })(),
  );
  await holdfast.close();
  for (const client of clients) client.disconnect();
  const peak = mega(process.resourceUsage().maxRSS * 1024);
  return { count, failed, lost, acquired, released, before, peak };
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  const [ports = '', count] = argv.slice(2);
  console.log(JSON.stringify(await burst(ports.split(',').map(Number), Number(count))));
}
