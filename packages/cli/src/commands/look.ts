/** `holdfast ls`, `inspect`, `wait` and `break`. */
import { createInterface } from 'node:readline/promises';
import type { Holdfast, HoldfastError, HoldfastOptions, LockInfo } from 'holdfast';
import { now } from '../child/protocol.js';
import { EXIT, Failure, failureOf, usage } from '../failure.js';
import { Notes } from '../notes.js';
import type { CommonOptions } from '../options.js';
import { despiteOutages } from '../outage.js';
import { openStore } from '../store.js';
import { TIMER_MAX } from '../values.js';
import { lockDetails, lockTable } from '../view/locks.js';
import { print } from '../view/output.js';
import { inWords, printable, json as toJson } from '../view/words.js';

/** Calls `use` with the store, and closes it. */
export async function withStore<T>(
  options: CommonOptions,
  use: (holdfast: Holdfast) => Promise<T>,
  settings: HoldfastOptions = {},
): Promise<T> {
  const store = await openStore(options, { ...settings, label: 'holdfast-cli' });
  try {
    return await use(store.holdfast);
  } finally {
    await store.close();
  }
}

/** All locks whose keys match, ordered by key. */
export async function locksOf(
  holdfast: Holdfast,
  pattern: string | undefined,
  notes: Notes,
): Promise<LockInfo[]> {
  const found: LockInfo[] = [];
  const onUnreadable = (error: HoldfastError): void =>
    notes.warning('unreadable', failureOf(error).message, { key: error.key ?? '' });
  for await (const lock of holdfast.list(pattern ?? '*', { onUnreadable })) found.push(lock);
  return found.sort((a, b) => (a.key < b.key ? -1 : 1));
}

export interface ListingOptions extends CommonOptions {
  readonly count?: boolean;
}

export async function ls(pattern: string | undefined, options: ListingOptions): Promise<number> {
  return withStore(options, async (holdfast) => {
    if (options.count === true) {
      const count = await holdfast.count(pattern);
      print(options.json === true ? toJson({ count }) : `${count}`);
      return 0;
    }
    const locks = await locksOf(holdfast, pattern, new Notes(options));
    if (options.json === true) for (const lock of locks) print(toJson(lock));
    else print(locks.length === 0 ? 'no lock is in use' : lockTable(locks));
    return 0;
  });
}

export async function inspect(key: string, options: CommonOptions): Promise<number> {
  return withStore(options, async (holdfast) => {
    const lock = await holdfast.inspect(key);
    if (options.json === true) print(toJson(lock));
    else print(lock === null ? `${printable(key)} is free` : lockDetails(lock));
    return 0;
  });
}

export interface WaitOptions extends CommonOptions {
  readonly wait?: number;
  readonly every: number;
  readonly conflictExitCode: number;
}

/** Waits until a key has no holder. It takes nothing, so another program may be faster. */
export async function waitFor(key: string, options: WaitOptions): Promise<number> {
  return withStore(options, async (holdfast) => {
    let isKnown = false;
    const look = async (answered: () => void): Promise<LockInfo | null> => {
      if (isKnown) answered();
      const lock = await holdfast.inspect(key);
      isKnown = true;
      return lock;
    };
    const { every, wait = Number.POSITIVE_INFINITY } = options;
    const start = performance.now();
    const patience = { key, notes: new Notes(options), until: now() + wait };
    for (;;) {
      const lock = await despiteOutages(look, patience);
      const waited = performance.now() - start;
      if (lock === null || lock.holderCount === 0) {
        if (options.json === true) print(toJson({ key, waited: Math.round(waited) }));
        return 0;
      }
      if (waited >= wait) {
        throw new Failure(options.conflictExitCode, `${key} was not free in ${inWords(wait)}`);
      }
      await new Promise((resolve) =>
        setTimeout(resolve, Math.min(every, wait - waited, TIMER_MAX)),
      );
    }
  });
}

/** How long `break` waits for the word of the holders. */
const CONFIRM_MS = 2000;

export interface BreakOptions extends CommonOptions {
  readonly yes?: boolean;
  readonly id?: string;
  readonly reason?: string;
}

/** Ends the leases of a key, after a question. */
export async function breakLock(key: string, options: BreakOptions): Promise<number> {
  const { id, json, reason, yes } = options;
  if (yes !== true && !process.stdin.isTTY) {
    throw usage('break asks before it acts, and there is no terminal', 'add --yes');
  }
  return withStore(options, async (holdfast) => {
    const lock = await holdfast.inspect(key);
    if (lock === null || lock.holderCount === 0) {
      const nothing = { key, ended: 0, overlap: 0 };
      print(json === true ? toJson(nothing) : `${printable(key)} is free`);
      return 0;
    }
    if (yes !== true && !(await agrees(lock))) {
      throw new Failure(EXIT.busy, `${key} was not broken`);
    }
    // another holder, that the question did not show, keeps its lease
    const shown = yes === true ? [undefined] : lock.holders.map((one) => one.id);
    const ends = (id === undefined ? shown : [id]).map((holder) =>
      holdfast.forceRelease(key, { holder, reason, wait: CONFIRM_MS }),
    );
    const results = await Promise.all(ends);
    const ended = results.reduce((sum, one) => sum + one.ended, 0);
    const overlap = Math.max(0, ...results.map((one) => one.overlap));
    if (id !== undefined && ended === 0) {
      const text = `${key} has no lease with the id ${id}, and was not broken`;
      throw new Failure(EXIT.busy, text, 'holdfast inspect shows the ids');
    }
    if (json === true) print(toJson({ key, ended, overlap }));
    else {
      print(`${ended} ${ended === 1 ? 'lease' : 'leases'} of ${printable(key)} ended`);
      if (overlap > 0) print(`A holder may work on for up to ${inWords(overlap)}`);
      // the question shows the first leases of many, and a yes is for those
      const kept = yes === true || id !== undefined ? 0 : lock.holderCount - lock.holders.length;
      if (kept > 0) print(`${kept} more were not shown and are kept; --yes ends all`);
    }
    return 0;
  });
}

/** The question is on standard error, because standard output is for the result. */
async function agrees(lock: LockInfo): Promise<boolean> {
  process.stderr.write(`${lockDetails(lock)}\n\n`);
  process.stderr.write('The holder may continue to work until it notices the loss.\n');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // the end of the input is a no
  const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  const answer = await Promise.race([terminal.question('Break this lock? [y/N] '), closed]);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}
