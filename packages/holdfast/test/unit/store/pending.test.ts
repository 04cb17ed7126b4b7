/** Commands that other processes left here, and how they differ from own ones. */
import { expect, it } from 'vitest';
import type { KeyCommand } from '../../../src/engine/commands.js';
import { MemoryRegister } from '../../../src/store/register/memory-register.js';
import type { Errand, Peers, PeerVersioned } from '../../../src/store/register/peers.js';
import { RegisterStore } from '../../../src/store/register/register-store.js';
import { asking } from '../../support/crowds.js';
import { VirtualClock } from '../../support/virtual-clock.js';
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
  expect(dropLate(batch, 3, 100, 'v')).toBe(1);
  expect(batch).toEqual([own, early]);
});

it('commands of others that a server may also keep are not applied', async () => {
  const clock = new VirtualClock();
  const memory = new MemoryRegister(clock);
  const peers = at(0);
  for (const inDoubt of [true, false]) {
    const readFree = async (key: string): Promise<PeerVersioned> => {
      return { ...(await memory.read(key)), inDoubt };
    };
    const store = new RegisterStore(Object.assign(memory, { peers, readFree }), { clock });
    const text = JSON.stringify(asking('theirs', { key: 'k', capacity: 1 }));
    peers.listener?.asked('holdfast:lock:k', text, left(1).errand as Errand);
    await clock.advance(10);
    expect((await clock.until(memory.read('holdfast:lock:k'))).state === '').toBe(inDoubt);
    await store.dispose();
  }
});

it('a change waits for commands of others that are on their way', async () => {
  const clock = new VirtualClock();
  let arrived = (): void => undefined;
  let gathering: Promise<void> | undefined = new Promise((resolve) => (arrived = resolve));
  const peers: Peers = { ...at(0), gathering: () => gathering };
  const register = Object.assign(new MemoryRegister(clock), { peers });
  const store = new RegisterStore(register, { clock });
  const ask = (id: string): KeyCommand => asking(id, { key: 'k', capacity: 1 });
  const replies = Promise.all(store.execute([ask('own')]));
  await clock.advance(10);
  peers.listener?.asked('holdfast:lock:k', JSON.stringify(ask('theirs')), left(1).errand as Errand);
  gathering = undefined;
  arrived();
  expect(await clock.until(replies)).toMatchObject([{ status: 'granted' }]);
  const { state } = await clock.until(register.read('holdfast:lock:k'));
  expect(state).toContain('theirs');
});

it('the tokens of other processes do not count as own ones, nor push them out', async () => {
  const clock = new VirtualClock();
  const expected: string[] = [];
  const peers: Peers = { ...at(0), expects: (_key, token) => void expected.push(token) };
  const register = Object.assign(new MemoryRegister(clock), { peers });
  const store = new RegisterStore(register, { clock });
  const ask = (id: string): KeyCommand => asking(id, { key: 'k', capacity: 1, token: id });
  const { errand } = left(1);
  peers.listener?.asked('holdfast:lock:k', JSON.stringify(ask('theirs')), errand as Errand);
  const replies = await clock.until(Promise.all(store.execute([ask('own')])));
  expect(replies).toMatchObject([{ status: 'queued' }]);
  expect(expected).toEqual(['own']);
});
