/** A share of the torture on each server, and one with a fault planted, which it has to find. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { type Outcome, type Parameters, torture } from '../../../../torture/src/torture.js';

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

type About = Pick<Parameters, 'server' | 'seconds' | 'processes' | 'fault'>;

function run(about: About): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-torture-'));
  folders.push(folder);
  const seed = Date.now() % 1e6;
  console.log(`torture of ${about.server}, seed ${seed}`);
  return torture({ ...about, seed, tasks: 4, folder });
}

it.each(['redis', 'valkey'] as const)(
  'never do two hold one lock on %s, whatever happens',
  async (server) => {
    const { events, problems } = await run({ server, seconds: 5, processes: 6 });
    expect(problems.list()).toEqual([]);
    const kinds = new Set(events.map((event) => (event.e === 'fault' ? event.kind : undefined)));
    expect(kinds.size).toBeGreaterThan(5);
    // each process held something after the faults, so at least that many did
    expect(events.filter(({ e }) => e === 'grant').length).toBeGreaterThan(6);
  },
  300_000,
);

it('would notice two that hold one lock', async () => {
  const { problems } = await run({
    server: 'redis',
    seconds: 2,
    processes: 4,
    fault: 'no-renewal',
  });
  expect(problems.count('exclusion')).toBeGreaterThan(0);
  expect(problems.count('use')).toBeGreaterThan(0);
}, 300_000);
