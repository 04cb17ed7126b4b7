/** Commands that other processes left here are applied only while their senders wait for it. */
import { expect, it } from 'vitest';
import type { KeyCommand } from '../../../src/engine/commands.js';
import type { Peers } from '../../../src/store/register/peers.js';
import { dropLate, type Pending, UNAWAITED } from '../../../src/store/register/pending.js';

const command = { op: 'inspect', key: 'k', limit: 1 } satisfies KeyCommand;

const left = (until: number): Pending => ({
  command,
  errand: { from: 'channel', number: `${until}`, until, secret: 's' },
  ...UNAWAITED,
});

/** A clock that is not ahead of `time`. */
const at = (time: number): Peers => ({
  listener: undefined,
  expects: () => undefined,
  answerTo: () => ({ channel: '', text: '' }),
  latest: () => time,
  stays: () => 0,
});

it('commands whose time may be over are dropped, and those in front of a place counted', () => {
  const own: Pending = { command, ...UNAWAITED };
  const [late, early, behind] = [left(99), left(100), left(98)];
  const batch = [late, own, early, behind];
  expect(dropLate(batch, 3, at(100))).toBe(1);
  expect(batch).toEqual([own, early]);
});
