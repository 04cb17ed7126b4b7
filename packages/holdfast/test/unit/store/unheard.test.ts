/** Which grants the next change ends, and which it leaves. */
import { expect, it } from 'vitest';
import type { KeyCommand } from '../../../src/engine/commands.js';
import type { Addressed } from '../../../src/engine/serve.js';
import { dropLate, type Pending, UNAWAITED } from '../../../src/store/register/pending.js';
import { unheard } from '../../../src/store/register/unheard.js';

const retention = 60_000;
const pending = (command: KeyCommand): Pending => ({ command, ...UNAWAITED });
const release = pending({ op: 'release', key: 'k', id: 'other.1', retention });
const poll = pending({ op: 'poll', key: 'k', ids: ['own.1'], patience: 1, retention });
const grant = (id: string, channel: string): Addressed => {
  const push = { kind: 'grant', id, fence: 1, now: 1, left: 1, handOffs: 0, holds: 1 } as const;
  return { channel, push: { ...push, token: 't' } };
};
const pushes = [grant('own.1', 'deaf'), grant('third.1', 'heard')];

it('ends a grant whose channel is deaf, and no other', () => {
  const ended = unheard('k', [release], pushes, ['deaf', 'strange'], 'v1');
  expect(ended.map(({ command }) => command)).toEqual([
    { op: 'release', key: 'k', id: 'own.1', retention },
  ]);
  expect(unheard('k', [release], pushes, ['strange'], 'v1')).toEqual([]);
});

it('leaves a grant that the answer to a command of the same change may tell', () => {
  expect(unheard('k', [release, poll], pushes, ['deaf'], 'v1')).toEqual([]);
});

it('leaves it if another change came first, or its process asks meanwhile', () => {
  const kept = (current: string, others: Pending[]): number => {
    const batch = [...others, ...unheard('k', [release], pushes, ['deaf'], 'v1')];
    dropLate(batch, batch.length, 0, current);
    return batch.length - others.length;
  };
  expect(kept('v1', [release])).toBe(1);
  expect(kept('v2', [release])).toBe(0);
  expect(kept('v1', [poll])).toBe(0);
});
