/** `holdfast once`: of many machines that start the same job, one runs it. */
import type { RunOnceResult, ScheduledRun, ScheduleOptions } from 'holdfast';
import { type Budget, budgetWithin } from '../budget.js';
import { GuardedCommand, mustBeFound } from '../child/guarded-command.js';
import { interrupted, Signals } from '../child/signals.js';
import { runUnder, type Words } from '../child/under-lock.js';
import { usage } from '../failure.js';
import { Notes } from '../notes.js';
import type { RunsOptions } from '../options.js';
import { openStore } from '../store.js';
import { inWords, nameOf } from '../view/words.js';
import { labelOf } from './run.js';

export interface OnceOptions extends RunsOptions {
  readonly atLeast: number;
  readonly atMost: number;
  readonly slot?: string;
  readonly retention?: number;
  readonly afterFailure?: 'keep' | 'release';
  readonly wait?: number;
  readonly conflictExitCode: number;
}

/** A command that ended with another code than 0: the schedule counts it as a failure. */
class CommandFailed extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`the command ended with ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/** Resolves to the exit code. */
export async function once(name: string, words: Words, options: OnceOptions): Promise<number> {
  const budget = budgetOf(options);
  mustBeFound(words[0]);
  const notes = new Notes(options);
  const signals = new Signals();
  const command = new GuardedCommand();
  const { requestTimeout } = budget;
  try {
    const { afterFailure, atLeast, atMost, retention, slot, ttl, wait } = options;
    const terms: ScheduleOptions = { atLeast, atMost, retention, afterFailure };
    const settings = { ttl, requestTimeout, label: labelOf(options, words) };
    const store = await openStore(options, settings, {
      check: (unused) => unused.schedule(name, terms),
      signals,
    });
    try {
      const limit = { option: '--at-most', ms: atMost };
      await store.holdfast.warmUp().catch(() => undefined);
      const work = async (run: ScheduledRun): Promise<void> => {
        const code = await runUnder(run, { words, budget, notes, signals, command, limit });
        if (code !== 0) throw new CommandFailed(code);
      };
      const how = { slot, wait, signal: signals.signal };
      const result = await store.holdfast.schedule(name, terms).runOnce(work, how);
      return result.ran ? 0 : skipped(name, result, { notes, code: options.conflictExitCode });
    } finally {
      await store.close();
    }
  } catch (error) {
    if (error instanceof CommandFailed) return error.exitCode;
    throw isAborted(error) ? (interrupted(signals) ?? error) : error;
  } finally {
    command.dismiss();
  }
}

/** @throws a usage error if the times do not fit, before a request is sent */
function budgetOf(options: OnceOptions): Budget {
  const { atLeast, atMost } = options;
  if (atMost < atLeast) {
    throw usage(
      `--at-most ${inWords(atMost)} is shorter than --at-least ${inWords(atLeast)}`,
      `use --at-most ${inWords(atLeast)} or more`,
    );
  }
  return budgetWithin(options, '--at-most', atMost);
}

function isAborted(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'HOLDFAST_ABORTED';
}

function skipped(
  key: string,
  { holder, reason }: Extract<RunOnceResult<unknown>, { ran: false }>,
  { code, notes }: { readonly code: number; readonly notes: Notes },
): number {
  const where = holder === null ? '' : `, by ${nameOf(holder)}`;
  const text = reason === 'busy' ? `it runs, or ran just now${where}` : `its slot was used${where}`;
  notes.event('skipped', `skipped ${key}: ${text}`, { key, reason, holder });
  return code;
}
