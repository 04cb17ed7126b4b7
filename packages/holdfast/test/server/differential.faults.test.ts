/**
 * The comparison of the Lua scripts with the TypeScript engine can fail: each planted fault of a
 * script is noticed. HOLDFAST_SEED repeats a run.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Differential, loadScripts } from '../support/differential.js';
import { DifferentialServer } from '../support/differential-server.js';
import { type Fault, fault, FAULTS, faulty } from '../support/faults.js';
import { HAND_OFF_FAULTS } from '../support/faults-hand-off.js';
import { CHANGE_FAULTS } from '../support/faults-change.js';
import { LIVENESS_FAULTS } from '../support/faults-liveness.js';
import { PARKING_FAULTS } from '../support/faults-parking.js';
import { PAUSE_FAULTS } from '../support/faults-pauses.js';
import { RENEWAL_FAULTS } from '../support/faults-renewal.js';
import { PLAIN_FAULTS } from '../support/faults-plain.js';
import { TOKEN_FAULTS } from '../support/faults-token.js';
import { TURN_FAULTS } from '../support/faults-turn.js';
import { FOUND_BY } from '../support/found-by.js';
import { rare } from '../support/rare.js';
import { literally, type Step, traffic } from '../support/traffic.js';

/** A fault counts as missed when this many sequences do not find it. */
const FAULT_RUNS = 4000;

const ALL = [
  ...FAULTS,
  ...PARKING_FAULTS,
  ...PAUSE_FAULTS,
  ...RENEWAL_FAULTS,
  ...CHANGE_FAULTS,
  ...TOKEN_FAULTS,
  ...HAND_OFF_FAULTS,
  ...LIVENESS_FAULTS,
  ...TURN_FAULTS,
  ...PLAIN_FAULTS,
];

describe('the differential test detects', () => {
  const server = new DifferentialServer<Step[], Differential>(
    async (redis, replace) => new Differential(redis, await loadScripts(redis, replace)),
  );
  const examples = rare.map(([, steps]) => [...steps]);
  const likely = ({ name }: Fault): Step[][] =>
    rare.flatMap(([title, steps]) => (FOUND_BY[title]?.includes(name) ? [[...steps]] : []));

  beforeAll(() => server.start('redis'));
  afterAll(() => server.stop());

  it.each(ALL.map((one) => [one.name, one] as const))('%s', { timeout: 300_000 }, (_, one) =>
    server.finds(faulty(one), traffic, FAULT_RUNS, examples, likely(one)),
  );

  it('knows the rare sequences and the faults that they find by their names', () => {
    const titles = rare.map(([title]) => title);
    expect(Object.keys(FOUND_BY).filter((title) => !titles.includes(title))).toEqual([]);
    const names = ALL.map(({ name }) => name);
    expect(
      Object.values(FOUND_BY).flatMap((found) => found.filter((name) => !names.includes(name))),
    ).toEqual([]);
  });

  it('a script that does not end, and goes on with another server', async () => {
    const endless = fault('endless', ['poll.lua', 'flush()', 'while true do end']);
    // one poll takes no time if its script ends
    const poll: Step[] = [
      literally({ op: 'poll', key: 'k1', ids: ['a'], patience: 1000, retention: 1000 }),
    ];
    await server.finds(faulty(endless), traffic, FAULT_RUNS, [], [poll], 300);
    await server.finds(faulty(FAULTS[0] as Fault), traffic, FAULT_RUNS);
  });

  it('a fault with text that is not in the script', () => {
    expect(() => faulty({ name: 'x', edits: [['renew.lua', 'no such text', '']] })).toThrow(
      'x: found 0 times',
    );
    expect(() => faulty({ name: 'x', edits: [['renew.lua', 'local', '']] })).toThrow(/found \d\d?/);
  });
});
