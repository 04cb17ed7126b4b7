/** A misspelt option is refused by name, before anything is sent. */
import { expect, it } from 'vitest';
import { adopt, toText } from '../../src/handover.js';
import { Holdfast, type Lease, memory } from '../../src/index.js';
import { failure } from '../suites/helpers.js';

type Call = (holdfast: Holdfast, lease: Lease) => unknown;

const CALLS: readonly (readonly [option: string, call: Call])[] = [
  ['grce', (holdfast) => holdfast.close({ grce: 0 } as object)],
  ['marker', (holdfast) => holdfast.list('*', { marker: true } as object).next()],
  ['singal', (_, lease) => lease.ensure(1, { singal: undefined } as object)],
  ['singal', (_, lease) => lease.extend(1, { singal: undefined } as object)],
  ['singal', (_, lease) => lease.release({ singal: undefined } as object)],
  ['ttl', (holdfast) => holdfast.ownerLocks.lock('o', 'me', 9000, { ttl: 1 } as object)],
  [
    'sharedBy',
    (holdfast) => holdfast.ownerLocks.tryLock('o', 'me', 9000, { sharedBy: 'x' } as object),
  ],
  ['wait', (holdfast, lease) => adopt(holdfast, toText(holdfast, lease), { wait: 1 } as object)],
];

it.each(CALLS)('%s', async (option, call) => {
  await using holdfast = new Holdfast(memory());
  const lease = await holdfast.mutex('k').acquire();
  const error = await failure((async () => call(holdfast, lease))(), 'HOLDFAST_BAD_OPTION');
  expect(error.option).toBe(option);
  expect(lease.held).toBe(true);
  await lease.release();
});
