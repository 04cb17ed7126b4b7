/** Runs the examples as a user starts them: each prints its expected result and exits. */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Server, spawnWorker, startServer } from 'holdfast-testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';

const EXAMPLES = fileURLToPath(new URL('../../../../examples/dist/', import.meta.url));

/** A pattern that the output of each example must match. */
const EXPECTED: Readonly<Record<string, RegExp>> = {
  'bounded-queue': /remaining: 0/,
  'cache-stampede': /single flight +1 computations/,
  'cron-job': /runs of each tick: 1, 1, 1/,
  election: /terms increase: true/,
  'shared-lease': /outer release: freed/,
  'fenced-write': /first release: lost/,
  'java-style': /third unlock: false/,
  'locked-method': /HOLDFAST_NOT_HELD/,
  phases: /^[\d. ]+$/m,
  'quick-start': /balance: 900/,
  'rw-lock': /the only reader became a writer/,
  semaphore: /5 of 5 are busy/,
  'several-keys': /account:3 has 70, account:7 130/,
  'small-bundle': /balance: 700/,
};

/** These examples also run with several processes on a server. */
const WITH_SERVER: readonly string[] = ['bounded-queue', 'cache-stampede', 'election'];

let server: Server;
beforeAll(async () => {
  server = await startServer({ server: 'redis' });
});
afterAll(() => server.stop());

async function run(name: string, args: string[]): Promise<{ code: number | null; output: string }> {
  await using example = spawnWorker(`${EXAMPLES}${name}.js`, { args });
  const { code } = await example.exited;
  return { code, output: example.output };
}

it('covers every example', () => {
  const files = readdirSync(EXAMPLES).filter((file) => file.endsWith('.js'));
  expect(files.map((file) => file.replace('.js', '')).sort()).toEqual(Object.keys(EXPECTED).sort());
});

it.each(Object.keys(EXPECTED).filter((name) => name !== 'election'))('%s', async (name) => {
  const { code, output } = await run(name, []);
  expect(output).toMatch(EXPECTED[name] as RegExp);
  expect(code).toBe(0);
});

it.each(WITH_SERVER)('%s on a server', async (name) => {
  const { code, output } = await run(name, [server.url]);
  expect(output).toMatch(EXPECTED[name] as RegExp);
  expect(code).toBe(0);
});

it('election prints a one-line error when the server URL is missing', async () => {
  const { code, output } = await run('election', []);
  expect(output.trim().split('\n')).toHaveLength(1);
  expect(code).toBe(2);
});
