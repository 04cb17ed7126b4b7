/** Messages, and the optional methods. */
import type { Message, Register, Swap } from '../register.js';
import {
  caseOf,
  check,
  expectState,
  put,
  type RegisterCase,
  type Scene,
  short,
  sleep,
  to,
} from './case.js';

const sending = (state: string, ...messages: readonly Message[]): ReturnType<typeof to> => {
  return { ...to(state), messages };
};

/** The longest that the library sends. */
const TEXTS: readonly string[] = ['grant', '{"a":"\'\\"\\n"}', ' é😀 ', 'x'.repeat(4000)];

async function pair(at: Scene): Promise<[Register, Register] | undefined> {
  const registers: [Register, Register] = [await at.register(), await at.register()];
  return registers[0].listen === undefined ? undefined : registers;
}

const arrives = caseOf('the messages of a swap arrive at their channels', async (at) => {
  const registers = await pair(at);
  if (registers === undefined) return;
  const [one, other] = registers;
  const channels = [at.key('é "\' wake'), at.key('x'.repeat(300))] as const;
  const far = await at.inbox(other, channels[0]);
  const near = await at.inbox(one, channels[1]);
  for (const { events } of [far, near]) {
    check(events.at(-1) === 'up', '`up` was not called by the time `listen` resolved');
  }
  const all = TEXTS.flatMap((text) => channels.map((channel) => ({ channel, text })));
  await put(one, at.key(), sending('state', ...all));
  for (const text of TEXTS) {
    await far.has(text);
    await near.has(text);
  }
  check(far.texts.length === TEXTS.length, 'a message arrived twice, or on another channel');
});

const successful = caseOf('the messages of a swap that lost are not sent', async (at) => {
  const registers = await pair(at);
  if (registers === undefined) return;
  const [one, other] = registers;
  const channel = at.key('wake');
  const inbox = await at.inbox(other, channel);
  for (const key of [at.key(), at.key()]) {
    const { version } = await one.read(key);
    await put(other, key, to('theirs'));
    const swapped = await one.swap(key, version, sending('mine', { channel, text: 'lost' }));
    check(swapped === false, 'a swap with an old version succeeded');
  }
  await put(one, at.key(), sending('state', { channel, text: 'sent' }));
  await inbox.has('sent');
  await sleep(50);
  check(!inbox.texts.includes('lost'), 'the message of a swap that lost arrived');
});

const ends = caseOf('a closed channel gets no messages, and may be opened again', async (at) => {
  const registers = await pair(at);
  if (registers === undefined) return;
  const [one, other] = registers;
  const channel = at.key('wake');
  const first = await at.inbox(other, channel);
  await put(one, at.key(), sending('state', { channel, text: 'one' }));
  await first.has('one');
  await first.end();
  await put(one, at.key(), sending('state', { channel, text: 'two' }));
  const second = await at.inbox(other, channel);
  await put(one, at.key(), sending('state', { channel, text: 'three' }));
  await second.has('three');
  check(first.texts.length === 1, 'a message arrived after the channel was closed');
});

const living = caseOf('`alive` calls no channel dead on which a process listens', async (at) => {
  const registers = await pair(at);
  if (registers?.[0].alive === undefined) return;
  const [one, other] = registers;
  const channels = [at.key('a'), at.key('b')];
  for (const channel of channels) await at.inbox(other, channel);
  const alive = await one.alive?.(channels);
  check(alive?.length === 2 && alive.every(Boolean), `it answered ${JSON.stringify(alive)}`);
});

const MANY = 600;

const readsMany = caseOf('`readMany` returns what `read` returns, in order', async (at) => {
  const [one, other] = [await at.register(), await at.register()];
  if (one.readMany === undefined) return;
  const keys = Array.from({ length: MANY }, () => at.key());
  for (const [index, key] of keys.entries()) {
    if (index % 50 === 0) await put(other, key, to(`${index}`));
  }
  const all = await one.readMany([...keys].reverse());
  check(all.length === MANY, `it returned ${all.length} states for ${MANY} keys`);
  for (const [index, { state, version }] of [...all].reverse().entries()) {
    const expected = index % 50 === 0 ? `${index}` : '';
    check(state === expected, `state ${index} should be "${expected}", and it is ${short(state)}`);
    if (index % 100 !== 0) continue;
    const swapped = await other.swap(keys[index] as string, version, to('next'));
    check(swapped !== false, 'a swap with a version that it returned was false');
  }
  check((await one.readMany([])).length === 0, 'it returned something for no key');
});

const swapsMany = caseOf('`swapMany` does what `swap` does, for each key alone', async (at) => {
  const [one, other] = [await at.register(), await at.register()];
  if (one.swapMany === undefined) return;
  const channel = at.key('wake');
  const inbox = await at.inbox(other, channel);
  const keys = Array.from({ length: 40 }, () => at.key());
  for (const key of keys.slice(0, 20)) await put(one, key, to('old'));
  const swaps: Swap[] = [];
  for (const [index, key] of keys.entries()) {
    const { version } = await one.read(key);
    // another process is faster at each fourth key
    if (index % 4 === 0) await put(other, key, to('theirs'));
    const change = sending(`mine ${index}`, { channel, text: `${index}` });
    swaps.push({ key, version, change });
  }
  const results = await one.swapMany(swaps);
  check(results.length === 40, `it returned ${results.length} results for 40 swaps`);
  for (const [index, key] of keys.entries()) {
    const isLost = results[index] === false;
    check(isLost === (index % 4 === 0), `swap ${index} should have ${isLost ? 'won' : 'lost'}`);
    await expectState(other, key, isLost ? 'theirs' : `mine ${index}`);
    if (!isLost && one.listen !== undefined) await inbox.has(`${index}`);
  }
  check(!inbox.texts.includes('0'), 'the message of a swap that lost arrived');
  const again = await one.swapMany(swaps);
  check(
    again.every((result) => result === false),
    'a version could be used twice',
  );
});

const reopens = caseOf('a call after `close` opens what it needs again', async (at) => {
  const one = await at.register();
  const key = at.key();
  await put(one, key, to('kept'));
  await one.close?.();
  await expectState(one, key, 'kept');
  await put(one, key, to('changed'));
  await one.close?.();
  await one.close?.();
});

const tells = caseOf('`examine` and `trouble` tell what the port says', async (at) => {
  const one = await at.register();
  for (const finding of (await one.examine?.()) ?? []) {
    const { code, severity, server, message, evidence, advice } = finding;
    const texts: unknown[] = [code, server, message, evidence, advice];
    const areTexts = texts.every((text) => typeof text === 'string');
    check(areTexts && message !== '', `a finding lacks a text: ${JSON.stringify(finding)}`);
    const isKnown = ['danger', 'warning', 'notice'].includes(severity);
    check(isKnown, `a finding has the severity ${JSON.stringify(severity)}`);
  }
  const trouble: unknown = one.trouble?.();
  check(trouble === undefined || typeof trouble === 'string', '`trouble` returned no text');
});

export const MESSAGES: readonly RegisterCase[] = [
  ...[arrives, successful, ends, living, readsMany, swapsMany, reopens, tells],
];
