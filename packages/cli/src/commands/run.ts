/** `holdfast run`: runs a command under a lock. */
import type { Holdfast, Lease } from 'holdfast';
import { budgetWithin } from '../budget.js';
import { GuardedCommand } from '../child/guarded-command.js';
import { interrupted, Signals } from '../child/signals.js';
import { now } from '../child/protocol.js';
import { notFree, NotConfirmed, runUnder, type Words } from '../child/under-lock.js';
import { failureOf } from '../failure.js';
import { Notes } from '../notes.js';
import type { LockChoice, RunsOptions } from '../options.js';
import { despiteOutages, whileQueued } from '../outage.js';
import { openStore } from '../store.js';

/** A shorter wait is not reported. */
const WAITING_MS = 200;

export type RunOptions = RunsOptions & LockChoice;

/** Resolves to the exit code. */
export async function run(key: string, words: Words, options: RunOptions): Promise<number> {
  const { maxHold, ttl } = options;
  const budget = budgetWithin(options, '--max-hold', maxHold);
  const limit = maxHold === undefined ? undefined : { option: '--max-hold', ms: maxHold };
  const notes = new Notes(options);
  const signals = new Signals();
  const command = new GuardedCommand();
  try {
    const { requestTimeout } = budget;
    const settings = { ttl, requestTimeout, label: labelOf(options, words) };
    const store = await openStore(options, settings, {
      check: (unused) => lockOf(unused, key, options),
      signals,
    });
    try {
      const asked = { key, options, notes, signals, until: endOfWait(options) };
      for (;;) {
        const lease = await acquire(store.holdfast, asked);
        try {
          return await runUnder(lease, { words, budget, notes, signals, command, limit });
        } catch (error) {
          if (!(error instanceof NotConfirmed) || now() >= asked.until) throw error;
          notes.warning('again', `${error.message}; waiting for ${key} again`, { key });
        } finally {
          await release(lease, notes);
        }
      }
    } finally {
      await store.close();
    }
  } finally {
    command.dismiss();
  }
}

/** The arguments of a command may contain secrets, so the label is its name only. */
export function labelOf({ label }: RunsOptions, [file]: Words): string {
  return label ?? (file.split('/').at(-1) as string).slice(0, 200);
}

interface Asked {
  readonly key: string;
  readonly options: RunOptions;
  readonly notes: Notes;
  readonly signals: Signals;
  /** The end of the wait for the lock, on the clock of `now`. */
  readonly until: number;
}

function endOfWait({ wait = Infinity }: RunOptions): number {
  return now() + (wait === false ? 0 : wait);
}

async function acquire(holdfast: Holdfast, asked: Asked): Promise<Lease> {
  const { key, notes, options, signals, until } = asked;
  const left = (): number | undefined =>
    until === Infinity ? undefined : Math.max(0, Math.ceil(until - now()));
  const whole = left();
  let wait = whole;
  const lock = lockOf(holdfast, key, options);
  const { signal } = signals;
  // With it, a forced release is heard at once. Without it, at the next renewal.
  const known = await holdfast.warmUp().then(
    () => true,
    () => false,
  );
  const timer = setTimeout(() => notes.event('waiting', `waiting for ${key}`, { key }), WAITING_MS);
  try {
    const attempt = (answered: () => void): Promise<Lease> => {
      const asking = whileQueued(answered, () => lock.acquire({ signal, wait }));
      // what is left for another attempt
      return asking.finally(() => (wait = left()));
    };
    return await despiteOutages(attempt, { key, notes, signal, until, known });
  } catch (error) {
    throw interrupted(signals) ?? notFree(error, options.conflictExitCode, whole) ?? error;
  } finally {
    clearTimeout(timer);
  }
}

interface AnyLock {
  acquire(options: { signal: AbortSignal; wait: number | undefined }): Promise<Lease>;
}

function lockOf(holdfast: Holdfast, key: string, options: RunOptions): AnyLock {
  const { exclusive, maxHold, permits, shared } = options;
  const terms = { fair: options.fair === true, ...(maxHold !== undefined && { maxHold }) };
  if (permits !== undefined) {
    const semaphore = holdfast.semaphore(key, { permits: permits.total, ...terms });
    return { acquire: (more) => semaphore.acquire(permits.wanted, more) };
  }
  if (shared === true) return holdfast.rwLock(key, terms).read;
  if (exclusive === true) return holdfast.rwLock(key, terms).write;
  return holdfast.mutex(key, terms);
}

/** A lock that cannot be released ends with its lease, so that is no reason to fail. */
export async function release(lease: Lease, notes: Notes): Promise<void> {
  const { key } = lease;
  const held = lease.held;
  try {
    const outcome = await lease.release();
    notes.event('released', `released ${key}`, { key, outcome });
  } catch (error) {
    if (!held) return;
    const { message } = failureOf(error);
    notes.warning('not-released', `${message}; the lock ends with its lease`, { key });
  }
}
