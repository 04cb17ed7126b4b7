/** Encodes commands as arguments, and decodes replies of any client. */
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadScript } from '../../../../../tools/lua.mjs';
import type { KeyCommand, Reply } from '../../../src/engine/commands.js';
import { decodePush } from '../../../src/store/push-text.js';
import { answerTo, encode } from '../../../src/store/redis/codec.js';
import { asking } from '../../support/crowds.js';

const commands: readonly KeyCommand[] = [
  asking('a', { owner: 'o', meta: 'é', channel: 'c', ticket: 7 }),
  {
    ...{ op: 'turn', key: 'k', id: 'a', fence: 5, used: 7, again: 'b', ttl: 10, claim: 5 },
    ...{ handOffs: 3, channel: 'x', token: 't', waited: 4, tasks: 2, patience: 9 },
    ...{ retention: 1000, meta: 'é', fair: true, ticket: 6 },
  },
  { op: 'release', key: 'k', id: 'a', unpassed: true, retention: 1000 },
  { op: 'renew', key: 'k', id: 'a', ttl: 10, retention: 1000, channel: 'x', tasks: 2 },
  { op: 'poll', key: 'k', ids: ['a', 'b'], patience: 500, retention: 1000 },
  { op: 'forceRelease', key: 'k', id: '', retention: 1000 },
  { op: 'inspect', key: 'k', limit: 100 },
  {
    ...{ op: 'park', key: 'k', id: 'a', as: 'b', condition: 'c', want: 'signal', ttl: 10 },
    ...{ claim: 5, fair: true, channel: 'x', maxParked: 7, patience: 9 },
    ...{ retention: 1000, meta: 'é', token: 't' },
  },
  { op: 'signal', key: 'k', id: 'a', condition: 'c', count: 0, seq: 3, retention: 1000 },
  { op: 'resize', key: 'k', id: 'a', weight: 1, seq: 7, retention: 1000 },
  { op: 'capacity', key: 'k', from: 3, capacity: 5, retention: 1000 },
];

const folder = new URL('../../../src/store/redis/scripts/', import.meta.url);

/** The names of a script's arguments, from its header. */
function argsOf(op: KeyCommand['op']): readonly string[] {
  return loadScript(fileURLToPath(new URL(`${op}.lua`, folder))).args;
}

/** The documented reply of a script to such a command. */
function decode(op: KeyCommand['op'], raw: unknown): Reply {
  return answerTo(commands.find((command) => command.op === op) as KeyCommand, raw);
}

describe('a command becomes arguments', () => {
  it.each(commands.map((command) => [command.op, command] as const))(
    '%s: as many as its script expects, all of them text',
    (op, command) => {
      const names: readonly string[] = argsOf(op);
      const words = encode(command);
      const several = command.op === 'poll' ? command.ids.length - 1 : 0;
      expect(words).toHaveLength(names.length + several);
      expect(words.every((word) => typeof word === 'string')).toBe(true);
    },
  );

  it("acquire: each at its script's index", () => {
    const words = encode(asking('a', { owner: 'o', fair: true, queue: false, ticket: 1.8e15 }));
    const byName = Object.fromEntries(argsOf('acquire').map((name, at) => [name, words[at]]));
    expect(byName).toMatchObject({ id: 'a', owner: 'o', ticket: '1800000000000000', waited: '0' });
    expect(byName['terms']).toMatch(/^210 \d+ \d+ \d+ 0 \d+ \d+ \d+ 1 2000$/);
  });

  it.each([
    [{}, 3],
    [{ channel: 'c', token: 't' }, 5],
    [{ ticket: 7 }, 6],
    [{ waited: 7 }, 7],
    [{ owner: 'o' }, 8],
  ])('acquire without the empty words at its end: %j', (more, count) => {
    expect(encode(asking('a', { ...more }))).toHaveLength(count);
  });
});

describe('an answer becomes a reply', () => {
  it('only if it belongs to the command', () => {
    expect(() => decode('acquire', ['absent', 1])).toThrow('"absent" does not belong to acquire');
    expect(() => decode('renew', ['granted', 1, 2, 3, 4, 5])).toThrow('does not belong to renew');
    expect(decode('park', ['absent', 1])).toEqual({ status: 'absent', now: 1 });
  });

  it.each([
    ['integers', [1, 2, 3, 4, 5]],
    ['text', ['1', '2', '3', '4', '5']],
  ])('with %s for numbers', (_, [now, ...rest]) => {
    const granted = { status: 'granted', now: 1, fence: 2, left: 3, handOffs: 4, holds: 5 };
    expect(decode('acquire', ['granted', now, ...rest])).toEqual(granted);
  });

  it('with bytes for text', () => {
    expect(decode('acquire', [Buffer.from('refused'), 1, 2])).toEqual({
      status: 'refused',
      now: 1,
      next: 2,
    });
  });

  it.each([
    ['acquire', ['queued', 1, 2, 3], { status: 'queued', now: 1, ticket: 2, next: 3 }],
    ['acquire', ['full', 1, 2], { status: 'full', now: 1, length: 2 }],
    [
      'acquire',
      ['mismatch', 1, 2, 3],
      { status: 'mismatch', now: 1, capacity: 2, kind: 'rw-lock' },
    ],
    ['release', ['kept', 1, 2], { status: 'kept', now: 1, holds: 2 }],
    ['release', ['absent', 1, 0], { status: 'absent', now: 1, holds: 0 }],
    ['renew', ['absent', 1, 0], { status: 'absent', now: 1, left: 0 }],
    ['renew', ['renewed', 1, 2], { status: 'renewed', now: 1, left: 2 }],
    ['forceRelease', ['forced', 1, 2, 'a'], { status: 'forced', now: 1, ended: ['a'], left: 2 }],
    ['park', ['parked', 1], { status: 'parked', now: 1 }],
    ['park', ['absent', '1'], { status: 'absent', now: 1 }],
    ['park', ['shared', 1, 2], { status: 'shared', now: 1, holds: 2 }],
    ['park', ['full', 1, 2], { status: 'full', now: 1, length: 2 }],
    [
      'park',
      ['queued', 1, 2, 3, '1'],
      { status: 'queued', now: 1, ticket: 2, next: 3, signalled: true },
    ],
    ['signal', ['signalled', 1, 2, 3], { status: 'signalled', now: 1, woken: 2, left: 3 }],
    ['signal', ['absent', 1, 0, 0], { status: 'absent', now: 1, woken: 0, left: 0 }],
    ['acquire', ['conflict', 1, 2], { status: 'conflict', now: 1, weight: 2 }],
    ['acquire', ['refused', 1, 2], { status: 'refused', now: 1, next: 2 }],
    ['resize', ['resized', 1, 2, 3], { status: 'resized', now: 1, fence: 2, left: 3 }],
    ['resize', ['refused', 1, 2, 3], { status: 'refused', now: 1, fence: 2, left: 3 }],
    ['resize', ['absent', 1, 0, 0], { status: 'absent', now: 1, fence: 0, left: 0 }],
    [
      'capacity',
      ['changed', 1, 2, 2],
      { status: 'changed', now: 1, capacity: 2, kind: 'semaphore' },
    ],
    ['capacity', ['mismatch', 1, 2, 1], { status: 'mismatch', now: 1, capacity: 2, kind: 'mutex' }],
    ['capacity', ['absent', 1, 0], { status: 'absent', now: 1, capacity: 0, kind: '' }],
  ] as const)('%s %j', (op, raw, reply) => {
    expect(decode(op, raw)).toEqual(reply);
  });

  it('a number, in the ordinary case of acquire', () => {
    const command = asking('a', { ttl: 70, handOffs: 3 });
    const granted = { status: 'granted', now: 9, fence: 9, left: 70_000, handOffs: 24, holds: 1 };
    expect(answerTo(command, 9)).toEqual(granted);
    expect(answerTo({ ...command, fair: true }, '9')).toEqual({ ...granted, handOffs: 3 });
  });

  it('a number, in the ordinary case of release', () => {
    expect(decode('release', 9)).toEqual({ status: 'freed', now: 9, holds: 0 });
  });

  it.each(['renew', 'poll', 'forceRelease', 'inspect', 'resize', 'capacity'] as const)(
    'never a number: %s',
    (op) => {
      expect(() => decode(op, 9)).toThrow(TypeError);
    },
  );

  it('poll, with a state for each id', () => {
    const raw = ['polled', 1, 2, [['granted', 3, 4, 5, 6], ['queued'], ['absent']], 7];
    expect(decode('poll', raw)).toEqual({
      ...{ status: 'polled', now: 1, next: 2, pause: 7 },
      standings: [
        { status: 'granted', now: 1, fence: 3, left: 4, handOffs: 5, holds: 6 },
        { status: 'queued' },
        { status: 'absent' },
      ],
    });
  });

  it.each([null, 'OK', 0, -5, [], ['surprise', 1], [null], { status: 'granted' }])(
    'unless it is not a reply: %j',
    (raw) => {
      expect(() => decode('acquire', raw)).toThrow(TypeError);
    },
  );
});

describe('a published message', () => {
  it('is a grant, or the end of a lease', () => {
    expect(decodePush('g id 2 3 4 5 6 t')).toEqual({
      ...{ kind: 'grant', id: 'id', fence: 2, now: 3, left: 4, handOffs: 5, holds: 6, token: 't' },
    });
    expect(decodePush('g id 2 3 4 5 6 ')).toMatchObject({ token: '' });
    expect(decodePush('r id')).toEqual({ kind: 'revoke', id: 'id' });
  });

  it("is the end of a gate's generation", () => {
    expect(decodePush('o 1 2  t a key')).toEqual({
      ...{ kind: 'gate', key: 'a key', generation: 1, current: 2, fate: 'open', reason: '' },
      token: 't',
    });
    expect(decodePush('b 1 2 reset t k\0')).toMatchObject({ reason: 'reset', key: 'k\0' });
  });

  it.each([
    ...['', 'hello', 'g', 'g id', 'g id 1 2 3', 'x id 1 2 3 4 5', 'g  2 3 4 5 6 t', 'r ', 'r id x'],
    ...['g id 2 3 4 5 6', 'g id 2 3 4 5 6 t u', 'g id -2 3 4 5 6 t', 'g id 2.5 3 4 5 6 t'],
    ...['g id 1e9 3 4 5 6 t', 'g id  3 4 5 6 t', 'g id 2 3 Infinity 5 6 t', 's id 1'],
    ...['g id 9007199254740993 3 4 5 6 t', 'g id 2 3 4 5 NaN t', 'g id 0x2 3 4 5 6 t'],
    ...['o 1 2 reset t k', 'b 1 2  t k', 'b 1 2 odd t k', 'o 1 2  k', 'o 9007199254740993 1  t k'],
  ])('or is ignored: %j', (text) => {
    expect(decodePush(text)).toBeUndefined();
  });
});
