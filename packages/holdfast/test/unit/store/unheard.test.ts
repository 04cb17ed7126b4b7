/** Which grants the next change ends, and which it leaves. */
import { expect, it } from 'vitest';
import type { KeyCommand, Push } from '../../../src/engine/commands.js';
import { Engine } from '../../../src/engine/engine.js';
import type { Addressed } from '../../../src/engine/serve.js';
import { dropLate, type Pending, UNAWAITED } from '../../../src/store/register/pending.js';
import { unheard } from '../../../src/store/register/unheard.js';

const retention = 60_000;
const pending = (command: KeyCommand): Pending => ({ command, ...UNAWAITED });
const release = pending({ op: 'release', key: 'k', id: 'other.1', retention });
const poll = pending({ op: 'poll', key: 'k', ids: ['own.1'], patience: 1, retention });
const grant = (id: string, channel: string, holds = 1): Addressed => {
  const push = { kind: 'grant', id, fence: 1, now: 1, left: 1, handOffs: 0, holds } as const;
  return { channel, push: { ...push, token: 't' } };
};
const pushes = [grant('own.1', 'deaf'), grant('third.1', 'heard')];

it('ends a grant whose channel is deaf, and no other', () => {
  const ended = unheard('k', [release], pushes, ['deaf', 'strange'], 'v1');
  expect(ended.map(({ command }) => command)).toEqual([
    { op: 'release', key: 'k', id: 'own.1', unheard: true, retention },
  ]);
  expect(unheard('k', [release], pushes, ['strange'], 'v1')).toEqual([]);
  // another hold of its owner has the lease too
  expect(unheard('k', [release], [grant('own.1', 'deaf', 2)], ['deaf'], 'v1')).toEqual([]);
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

it.each([true, false])('its signal goes to the next if it was not heard: %s', (isUnheard) => {
  const engine = new Engine(() => 1, 0);
  const common = { key: 'k', ttl: 30_000, claim: 1000, fair: false, token: 't', meta: '' };
  const terms = { ...common, patience: 60_000, retention };
  const asked = { owner: '', weight: 1, kind: 'mutex', capacity: 1, maxQueue: 10 } as const;
  const waits = { condition: 'c', want: 'signal', maxParked: 10 } as const;
  let now = 1e15;
  const send = (command: KeyCommand): Push[] =>
    engine.apply(command, (now += 1000)).pushes.map(({ push }) => push);
  const acquire = (id: string): Push[] =>
    send({
      op: 'acquire',
      id,
      channel: id,
      handOffs: 0,
      queue: true,
      ticket: 0,
      ...terms,
      ...asked,
    });
  for (const name of ['first', 'second']) {
    acquire(name);
    send({ op: 'park', id: name, as: `${name}.1`, channel: name, ...terms, ...waits });
  }
  acquire('third');
  send({ op: 'signal', key: 'k', id: 'third', condition: 'c', count: 1, seq: 1, retention });
  const granted = send({ op: 'release', key: 'k', id: 'third', retention });
  expect(granted).toMatchObject([{ kind: 'grant', id: 'first.1' }]);
  const ended = { op: 'release', key: 'k', id: 'first.1', retention } as const;
  const woken = send(isUnheard ? { ...ended, unheard: true } : ended);
  expect(woken.map((push) => 'id' in push && push.id)).toEqual(
    isUnheard ? ['second.1', 'second.1'] : [],
  );
});
