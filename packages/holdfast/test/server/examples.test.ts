/** The examples, as a user starts them: each does what it says, and ends by itself. */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Server, spawnWorker, startServer } from 'holdfast-testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';

const EXAMPLES = fileURLToPath(new URL('../../../../examples/dist/', import.meta.url));

/** Something that each must say. */
const SAYS: Readonly<Record<string, RegExp>> = {
  'bounded-queue': /left: 0/,
  'cache-stampede': /single flight +1 computations/,
  'cron-job': /runs of each tick: 1, 1, 1/,
  election: /terms grow: true/,
  'explicit-owner': /outer release: freed/,
  'fenced-write': /first was told: lost/,
  'java-style': /once more: false/,
  'locked-method': /HOLDFAST_NOT_HELD/,
  phases: /^[\d. ]+$/m,
  'quick-start': /balance: 900/,
  'rw-lock': /the only reader became a writer/,
  semaphore: /5 of 5 are busy/,
  'several-keys': /account:3 has 70, account:7 130/,
};

/** These work in several processes too. */
const WITH_SERVER: readonly string[] = ['bounded-queue', 'cache-stampede', 'election'];

let server: Server;
beforeAll(async () => {
  server = await startServer({ server: 'redis' });
});
afterAll(() => server.stop());

async function run(name: string, args: string[]): Promise<{ code: number | null; said: string }> {
  await using example = spawnWorker(`${EXAMPLES}${name}.js`, { args });
  const { code } = await example.exited;
  return { code, said: example.output };
}

it('leaves no example out', () => {
  const files = readdirSync(EXAMPLES).filter((file) => file.endsWith('.js'));
  expect(files.map((file) => file.replace('.js', '')).sort()).toEqual(Object.keys(SAYS).sort());
});

it.each(Object.keys(SAYS).filter((name) => name !== 'election'))('%s', async (name) => {
  const { code, said } = await run(name, []);
  expect(said).toMatch(SAYS[name] as RegExp);
  expect(code).toBe(0);
});

it.each(WITH_SERVER)('%s on a server', async (name) => {
  const { code, said } = await run(name, [server.url]);
  expect(said).toMatch(SAYS[name] as RegExp);
  expect(code).toBe(0);
});

it('says in one line that it takes a server', async () => {
  const { code, said } = await run('election', []);
  expect(said.trim().split('\n')).toHaveLength(1);
  expect(code).toBe(2);
});
