/**
 * `holdfast lead`: runs a command on one machine of many.
 *
 *     waits --elected--> command runs --ends by itself--> resigns, exits with its code
 *       ^                     \--lost--> command is ended --\
 *       \---------------------------------------------------/
 *
 * The leader holds the mutex of the name with strict order, as an election of the library does.
 */
import { type Holdfast, isHoldfastError, type Lease } from 'holdfast';
import { type Budget, budgetFor } from '../budget.js';
import { GuardedCommand } from '../child/guarded-command.js';
import { interrupted, Signals } from '../child/signals.js';
import { runUnder, type Words } from '../child/under-lock.js';
import { EXIT, Failure, failureOf, isRefusal } from '../failure.js';
import { type LeaderPage, serveLeader } from '../leader-page.js';
import { Notes } from '../notes.js';
import type { RunsOptions } from '../options.js';
import { openStore } from '../store.js';
import { labelOf, release } from './run.js';

export interface LeadOptions extends RunsOptions {
  readonly http?: { readonly host: string; readonly port: number };
}

const PAUSE_MS = 1000;

interface Candidate {
  readonly name: string;
  readonly words: Words;
  readonly budget: Budget;
  readonly holdfast: Holdfast;
  readonly notes: Notes;
  readonly signals: Signals;
  readonly page: LeaderPage | undefined;
}

/** Resolves to the exit code. */
export async function lead(name: string, words: Words, options: LeadOptions): Promise<number> {
  const { http, ttl } = options;
  const budget = budgetFor(ttl, options.killAfter);
  const { requestTimeout } = budget;
  const notes = new Notes(options);
  const signals = new Signals();
  const settings = { ttl, requestTimeout, label: labelOf(options, words) };
  const store = await openStore(options, settings, {
    check: (unused) => unused.mutex(name),
    signals,
  });
  const { holdfast } = store;
  let page: LeaderPage | undefined;
  try {
    if (http !== undefined) page = await serveLeader(holdfast, name, http);
    if (page !== undefined) notes.event('serving', `serving ${page.url}`, { url: page.url });
    await holdfast.warmUp().catch(() => undefined);
    const candidate = { name, words, budget, holdfast, notes, signals, page };
    for (;;) {
      const code = await term(candidate);
      if (code !== undefined) return code;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  } finally {
    await page?.close();
    await store.close();
  }
}

/** One term. `undefined` if there may be another one. */
async function term(candidate: Candidate): Promise<number | undefined> {
  const { budget, name, notes, page, signals, words } = candidate;
  let lease: Lease | undefined;
  let command: GuardedCommand | undefined;
  const lost = (): void => page?.leads(false);
  try {
    lease = await elected(candidate);
    command = new GuardedCommand();
    page?.leads(!lease.signal.aborted);
    lease.signal.addEventListener('abort', lost, { once: true });
    const env = page === undefined ? {} : { HOLDFAST_LEADER_URL: page.url };
    return await runUnder(lease, { words, budget, notes, signals, command, env });
  } catch (error) {
    const failure = failureOf(error);
    const again = failure.exitCode === EXIT.lost || failure.exitCode === EXIT.unavailable;
    if (!again || isRefusal(error) || signals.first !== undefined) throw failure;
    notes.warning('again', `${failure.message}; standing again for ${name}`, { key: name });
    return undefined;
  } finally {
    lease?.signal.removeEventListener('abort', lost);
    lost();
    command?.dismiss();
    if (lease !== undefined) await release(lease, notes);
  }
}

async function elected({ holdfast, name, notes, signals }: Candidate): Promise<Lease> {
  const { signal } = signals;
  notes.event('candidate', `standing for ${name}`, { key: name });
  try {
    return await holdfast.mutex(name, { fair: true }).acquire({ signal });
  } catch (error) {
    if (!isHoldfastError(error, 'HOLDFAST_ABORTED')) throw error;
    throw interrupted(signals) ?? new Failure(EXIT.busy, `no longer standing for ${name}`);
  }
}
