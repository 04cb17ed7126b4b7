/**
 * A cache entry expires, and a thousand callers request it. One of them computes it.
 *
 *     node examples/dist/cache-stampede.js                          embedded
 *     node examples/dist/cache-stampede.js redis://127.0.0.1 10     ten clients of a server
 *     node examples/dist/cache-stampede.js redis://127.0.0.1 200    two hundred
 *
 * Three strategies are compared: no lock; a mutex (each holder checks the cache again); a single
 * flight. For each, the program prints the number of computations, and the delay from the moment
 * the entry is filled to the answer of the last caller.
 */
import { argv } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast, memory } from 'holdfast';
import { Redis } from 'ioredis';

const ALL_CALLERS = 1000;
const COMPUTATION_MS = 100;

interface Cache {
  entry: string | undefined;
  computations: number;
  filledAt: number;
}

/** The expensive computation. */
async function compute(cache: Cache): Promise<string> {
  cache.computations += 1;
  await sleep(COMPUTATION_MS);
  cache.entry = 'fresh';
  cache.filledAt = performance.now();
  return cache.entry;
}

const STRATEGIES: Record<string, (holdfast: Holdfast, cache: Cache) => Promise<string>> = {
  'no lock      ': async (_, cache) => cache.entry ?? compute(cache),
  'mutex        ': async (holdfast, cache) =>
    cache.entry ?? holdfast.mutex('example:mutex').run(async () => cache.entry ?? compute(cache)),
  'single flight': (holdfast, cache) =>
    holdfast.singleFlight('example:flight').run({
      fresh: () => cache.entry,
      compute: () => compute(cache),
    }),
};

const [, , url, number = '10'] = argv;
const INSTANCES = Number(number);
const CALLERS = Math.ceil(ALL_CALLERS / INSTANCES);
const store = memory();
const clients = Array.from(
  { length: url === undefined ? 0 : INSTANCES },
  () => new Redis(url ?? ''),
);
const instances = Array.from(
  { length: INSTANCES },
  (_, index) => new Holdfast(clients[index] ?? store),
);

console.log(`${INSTANCES * CALLERS} callers in ${INSTANCES} instances`);
for (const [name, read] of Object.entries(STRATEGIES)) {
  const cache: Cache = { entry: undefined, computations: 0, filledAt: 0 };
  const callers = instances.flatMap((one) =>
    Array.from({ length: CALLERS }, () => read(one, cache)),
  );
  await Promise.all(callers);
  const delay = performance.now() - cache.filledAt;
  const count = String(cache.computations).padStart(4);
  console.log(
    `${name} ${count} computations, the last caller ${delay.toFixed(1)} ms after the entry`,
  );
}

await Promise.all(instances.map((one) => one.close()));
for (const client of clients) client.disconnect();
