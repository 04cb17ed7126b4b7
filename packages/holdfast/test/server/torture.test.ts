/**
 * A part of the torture test on each server and on a quorum, and runs with planted faults, which it
 * must find.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ALL,
  type CheckName,
  type HistoryEvent,
  violations,
} from '../../../../verification/checker/src/index.js';
import { afterEach, expect, it } from 'vitest';
import {
  type Outcome,
  type Parameters,
  torture,
} from '../../../../verification/torture/src/torture.js';
import { DAMAGES } from '../support/damage.js';
import { untilShown } from '../support/until-shown.js';

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

type About = Pick<Parameters, 'server' | 'seconds' | 'processes' | 'fault' | 'quorum'>;

function run(about: About): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-torture-'));
  folders.push(folder);
  const seed = Date.now() % 1e6;
  console.log(`torture of ${about.server}, seed ${seed}`);
  return torture({ ...about, seed, tasks: 4, folder });
}

/** The damages for which the runs of some seconds together have an occasion. */
const OCCASIONS = 3;
const made = new Set<string>();
/** The kinds of faults of all runs: a busy machine has no time for each of them in one run. */
const injected = new Set<string>();

/** Each damaged copy of the history has a violation that the history has not, excused or not. */
function expectDamageFound(events: readonly HistoryEvent[]): void {
  const found = (history: readonly HistoryEvent[], name: CheckName): string[] =>
    violations(history, ALL)
      .filter(({ check }) => check === name)
      .map((violation) => JSON.stringify(violation));
  for (const { name, check, make } of DAMAGES) {
    const copy = make(events);
    if (copy === undefined) continue;
    made.add(name);
    const known = new Set(found(events, check));
    const added = found(copy, check).filter((violation) => !known.has(violation));
    expect(added.length, name).toBeGreaterThan(0);
  }
}

it.each([
  ['redis', 1],
  ['valkey', 1],
  ['valkey', 3],
  ['postgres', 1],
  ['sqlite', 1],
  ['etcd', 1],
] as const)(
  'no two processes hold one lock on %s (servers: %i)',
  async (server, quorum) => {
    // three members of etcd take much of a small machine
    const processes = server === 'etcd' ? 4 : 6;
    const { events, problems } = await run({ server, seconds: 5, processes, quorum });
    expect(problems.list()).toEqual([]);
    const kinds = events.flatMap((event) => (event.e === 'fault' ? [event.kind] : []));
    expect(kinds.length).toBeGreaterThan(0);
    for (const kind of kinds) injected.add(kind);
    // each process held a lease after the faults, so there are at least that many
    expect(events.filter(({ e }) => e === 'grant').length).toBeGreaterThan(processes);
    expectDamageFound(events);
  },
  300_000,
);

it('these runs had faults of many kinds, and their histories gave chances to damage them', () => {
  expect(injected.size).toBeGreaterThan(5);
  expect(made.size).toBeGreaterThanOrEqual(OCCASIONS);
});

it.each([
  ['redis', 1],
  ['redis', 3],
  ['postgres', 1],
  ['sqlite', 1],
  ['etcd', 1],
] as const)(
  'detects two holders of one lock on %s (servers: %i)',
  async (server, quorum) => {
    await untilShown(['exclusion', 'use'], async () => {
      const seconds = quorum > 1 || server === 'etcd' ? 8 : 5;
      const fault = 'no-renewal';
      const { problems } = await run({ server, seconds, processes: 4, fault, quorum });
      return (['exclusion', 'use'] as const).filter((kind) => problems.count(kind) > 0);
    });
  },
  1_200_000,
);
