/** The clock of a register, and when it forgets. */
import type { Versioned } from '../register.js';
import {
  caseOf,
  check,
  expectState,
  latestOf,
  local,
  put,
  type RegisterCase,
  sleep,
  to,
} from './case.js';

/** The years 2020 and 2100, in microseconds. */
const EARLIEST = 1.577e15;
const LATEST = 4.102e15;
/** Two clocks may differ by a part, and a time in microseconds. */
const DRIFT = 0.01;
const TOLERANCE = 20_000;

interface Seen extends Pick<Versioned, 'time' | 'latest'> {
  readonly began: number;
  readonly ended: number;
}

/** Fails if the clock ran by more or less than the local one. */
function compare(first: Seen, second: Seen): void {
  const ran = second.time - first.time;
  const most = second.ended - first.began;
  const least = second.began - first.ended;
  const allowed = TOLERANCE + DRIFT * most;
  // of a clock that is known by bounds, `time` is the lower one
  const before = Math.max(0, latestOf(first) - first.time);
  const after = Math.max(0, latestOf(second) - second.time);
  check(
    ran <= most + before + allowed && ran >= least - after - allowed,
    `its clock ran by ${ran} µs, while between ${Math.floor(least)} and ${Math.ceil(most)} µs ` +
      'passed. All processes must see one clock, in microseconds since 1970',
  );
}

const runs = caseOf('the clock counts microseconds, the same for all processes', async (at) => {
  const registers = [await at.register(), await at.register()];
  const key = at.key();
  const seen: Seen[] = [];
  for (let round = 0; round < 4; round += 1) {
    for (const register of registers) {
      let began = local();
      const { version, time, latest } = await register.read(key);
      seen.push({ time, latest, began, ended: local() });
      began = local();
      const swapped = await register.swap(key, version, to(`${round}`));
      check(swapped !== false, 'a swap lost, although no other process changed its key');
      const { time: later, latest: upper } = swapped;
      seen.push({ time: later, latest: upper, began, ended: local() });
    }
    await sleep(100);
  }
  for (const { time } of seen) {
    const isPlausible = Number.isSafeInteger(time) && time > EARLIEST && time < LATEST;
    check(isPlausible, `its time is ${time}, and not a whole number of microseconds since 1970`);
  }
  for (const [index, first] of seen.entries()) {
    for (const second of seen.slice(index + 1)) compare(first, second);
  }
});

const forwards = caseOf('the clock does not run backwards from answer to answer', async (at) => {
  const registers = [await at.register(), await at.register()];
  const key = at.key();
  let last = 0;
  for (let round = 0; round < 50; round += 1) {
    const read = await (registers[round % 2] as (typeof registers)[0]).read(key);
    // bounds may change, but never exclude what was true
    check(
      Math.max(read.time, latestOf(read)) >= last,
      `its time was ${last} in one answer, and ${read.time} in a later one`,
    );
    last = Math.max(last, read.time);
  }
});

const KEEP = 500_000;

const keeps = caseOf('a state is kept until its time', async (at) => {
  const [one, other] = [await at.register(), await at.register()];
  const [soon, later] = [at.key(), at.key()];
  const { time } = await one.read(soon);
  const forgetAt = time + KEEP;
  await put(one, later, to('long'));
  await put(one, soon, to('short', forgetAt));
  for (;;) {
    const read = await other.read(soon);
    // the answer may be older than the forgetting, but not the clock that it names
    if (Math.max(read.time, latestOf(read)) >= forgetAt) break;
    check(read.state === 'short', `${forgetAt - read.time} µs too early, the state was gone`);
    await sleep(20);
  }
  await expectState(other, later, 'long');
});

export const TIMES: readonly RegisterCase[] = [runs, forwards, keeps];
