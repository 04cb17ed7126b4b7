/** Swaps: one winner, versions that are used once and never come back. */
import { caseOf, check, expectState, put, type RegisterCase, short, sleep, to } from './case.js';

/** The swaps that race for one version, and how often. */
const RACERS = 8;
const RACES = 12;
const KEYS = 40;
const QUICK = 100;

const unknownKey = caseOf('a key without a state has an empty text and a version', async (at) => {
  const one = await at.register();
  const { state, version } = await one.read(at.key());
  check(state === '', `it has the state ${JSON.stringify(state)}`);
  check(typeof version === 'string' && version !== '', 'its version is no text, or empty');
});

const replaces = caseOf('a swap replaces the state, for all processes', async (at) => {
  const [one, other] = [await at.register(), await at.register()];
  const key = at.key();
  await put(one, key, to('first'));
  await expectState(other, key, 'first');
  await put(other, key, to('second'));
  await expectState(one, key, 'second');
});

const continues = caseOf('the version of a swap serves for the next one', async (at) => {
  const one = await at.register();
  const key = at.key();
  let { version } = await put(one, key, to('0'));
  for (const state of ['1', '2', '3']) {
    // without a version, the next swap needs a read
    if (version === '') ({ version } = await one.read(key));
    const swapped = await one.swap(key, version, to(state));
    check(swapped !== false, 'the version that a swap returned was not the current one');
    ({ version } = swapped);
  }
  await expectState(one, key, '3');
});

const quick = caseOf('each of many quick swaps has a version of its own', async (at) => {
  const one = await at.register();
  const key = at.key();
  let { version } = await one.read(key);
  const used = new Set<string>();
  for (let count = 0; count < QUICK; count += 1) {
    used.add(version);
    const swapped = await one.swap(key, version, to(`${count}`));
    check(swapped !== false, 'a swap lost, although no other process changed its key');
    version = swapped.version || (await one.read(key)).version;
    check(!used.has(version), `the version ${version} of an earlier state came back`);
  }
});

const lost = caseOf('a swap with an old version changes nothing', async (at) => {
  const [one, other] = [await at.register(), await at.register()];
  const key = at.key();
  const absent = await one.read(key);
  await put(other, key, to('theirs'));
  check((await one.swap(key, absent.version, to('mine'))) === false, 'a first swap overwrote');
  const present = await one.read(key);
  await put(other, key, to('theirs again'));
  check((await one.swap(key, present.version, to('mine'))) === false, 'a later swap overwrote');
  await expectState(other, key, 'theirs again');
});

const once = caseOf('a version is used once: the same swap again returns false', async (at) => {
  const one = await at.register();
  const key = at.key();
  for (const state of ['a', 'b']) {
    const { version } = await one.read(key);
    check((await one.swap(key, version, to(state))) !== false, 'the first swap returned false');
    const again = await one.swap(key, version, to(state));
    check(again === false, 'the same swap succeeded a second time');
    const other = await one.swap(key, version, to('other'));
    check(other === false, 'another swap with a version that was used succeeded');
    await expectState(one, key, state);
  }
});

const oneWins = caseOf('of concurrent swaps with one version, one wins', async (at) => {
  const registers = [await at.register(), await at.register()];
  const key = at.key();
  for (let race = 0; race < RACES; race += 1) {
    const { version } = await (registers[0] as (typeof registers)[0]).read(key);
    const racers = Array.from({ length: RACERS }, async (_, at) => {
      const register = registers[at % 2] as (typeof registers)[0];
      return (await register.swap(key, version, to(`${race}.${at}`))) === false ? undefined : at;
    });
    const winners = (await Promise.all(racers)).filter((winner) => winner !== undefined);
    check(winners.length === 1, `${winners.length} of ${RACERS} swaps with one version succeeded`);
    await expectState(registers[1] as (typeof registers)[0], key, `${race}.${winners[0]}`);
  }
});

const overtakes = caseOf('`overtake` makes every swap of an earlier version lose', async (at) => {
  const [one, other] = [await at.register(), await at.register()];
  if (one.overtake === undefined) return;
  const key = at.key();
  const absent = await one.overtake(key);
  check(absent.state === '', `a key without a state has the state ${short(absent.state)}`);
  await put(other, key, to('theirs'));
  check((await one.swap(key, absent.version, to('mine'))) === false, 'a first swap overwrote');
  for (const state of ['first', 'second']) {
    const earlier = await other.read(key);
    const overtaken = await one.overtake(key);
    check(overtaken.state === earlier.state, `it changed the state to ${short(overtaken.state)}`);
    const swapped = await other.swap(key, earlier.version, to('late'));
    check(swapped === false, 'a swap of an earlier version succeeded');
    const again = await other.overtake?.(key);
    check(again?.version === overtaken.version, 'a second one overtook the first one');
    check((await one.swap(key, overtaken.version, to(state))) !== false, 'its own swap lost');
    await expectState(other, key, state);
  }
});

const separate = caseOf('swaps of different keys do not disturb each other', async (at) => {
  const registers = [await at.register(), await at.register()];
  const keys = Array.from({ length: KEYS }, () => at.key());
  const chains = keys.map(async (key, index) => {
    const register = registers[index % 2] as (typeof registers)[0];
    let { version } = await register.read(key);
    for (const state of ['1', '2', `end ${index}`]) {
      const swapped = await register.swap(key, version, to(state));
      check(swapped !== false, 'a swap lost, although no other process changed its key');
      version = swapped.version || (await register.read(key)).version;
    }
    await expectState(register, key, `end ${index}`);
  });
  await Promise.all(chains);
});

const deleted = caseOf('no version comes back after a state was deleted', async (at) => {
  const [one, other] = [await at.register(), await at.register()];
  const key = at.key();
  const used: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    for (const state of ['first', 'second']) {
      const { version } = await put(one, key, to(state));
      if (version !== '') used.push(version);
      used.push((await one.read(key)).version);
    }
    const { version, time } = await one.read(key);
    const gone = await one.swap(key, version, to('', time - 1));
    check(gone !== false, 'a swap to an empty state returned false');
    await expectState(other, key, '');
  }
  await put(one, key, to('last'));
  const { version: last } = await one.read(key);
  for (const version of new Set(used)) {
    check(version !== last, `the version ${version} of an earlier state came back`);
    check(
      (await other.swap(key, version, to('overwritten'))) === false,
      `a swap with the version ${version} of a deleted state succeeded`,
    );
  }
  await expectState(one, key, 'last');
});

/** The life of states that must be forgotten, in microseconds. */
const LIFE = 300_000;

const forgotten = caseOf('no version comes back after a state was forgotten', async (at) => {
  const [one, other] = [await at.register(), await at.register()];
  const key = at.key();
  const used = new Set<string>();
  for (let round = 0; round < 2; round += 1) {
    const { time } = await one.read(key);
    await put(one, key, to(`round ${round}`, time + LIFE));
    used.add((await one.read(key)).version);
    // a register may keep it for longer
    await sleep(LIFE / 1000 + 100);
    await other.read(key);
  }
  await put(one, key, to('last'));
  const { version: last } = await one.read(key);
  for (const version of used) {
    check(version !== last, `the version ${version} of a forgotten state came back`);
    const swapped = await other.swap(key, version, to('overwritten'));
    check(swapped === false, `a swap with the version ${version} of a forgotten state succeeded`);
  }
  await expectState(one, key, 'last');
});

export const SWAPS: readonly RegisterCase[] = [
  ...[
    unknownKey,
    replaces,
    continues,
    quick,
    lost,
    once,
    oneWins,
    overtakes,
    separate,
    deleted,
    forgotten,
  ],
];
