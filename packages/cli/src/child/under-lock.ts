/**
 * Runs a command while a lock is held.
 *
 *     lock granted --enough time left--> command runs --ends by itself--> its exit code
 *                                           \--lost, or not renewed--> SIGTERM, SIGKILL --> lost
 *
 * The guard process knows until when the lock is held, so the command also ends in time if this
 * process is stopped or killed.
 */
import { isHoldfastError } from 'holdfast';
import { type Budget, MARGIN_MS } from '../budget.js';
import { EXIT, Failure, failureOf } from '../failure.js';
import type { Notes } from '../notes.js';
import type { Ended, GuardedCommand } from './guarded-command.js';
import { type EndReason, now, type Report } from './protocol.js';
import { interrupted, signalCode, type Signals } from './signals.js';

/** The parts of a lease that are needed here. A `ScheduledRun` has them too. */
export interface Held {
  readonly key: string;
  readonly fence: number;
  readonly held: boolean;
  readonly remaining: number;
  readonly signal: AbortSignal;
  verify(): Promise<boolean>;
}

/** An option that ends the lease, however often it is renewed. */
export interface Limit {
  readonly option: string;
  readonly ms: number;
}

/** A command with its arguments: at least one word. */
export type Words = readonly [file: string, ...args: string[]];

export interface Context {
  readonly words: Words;
  readonly budget: Budget;
  readonly notes: Notes;
  readonly signals: Signals;
  /** Started in advance, because it takes as long as the connection to the server. */
  readonly command: GuardedCommand;
  readonly limit?: Limit | undefined;
  /** Added to the environment of the command. */
  readonly env?: Readonly<Record<string, string>>;
}

const POLL_MS = 10;

const REASONS: Readonly<Record<EndReason, string>> = {
  lost: 'the lock was lost',
  deadline: 'the lock was about to end and could not be renewed',
  orphaned: 'holdfast was stopped',
};

/**
 * Resolves to the exit code of the command.
 * @throws a failure if the command could not be started, if a signal came before it, or if it was
 *   ended because the lock was lost; `NotConfirmed` if the lock was lost before it was started
 */
export async function runUnder(lease: Held, context: Context): Promise<number> {
  const { budget, command, notes, signals, words } = context;
  await enoughTime(lease, budget, signals);
  // it came after the grant: the wait did not see it, and there is no command to send it to
  const stopped = interrupted(signals);
  if (stopped !== undefined) throw stopped;
  const { fence, key } = lease;
  const limited = limitOf(context);
  notes.event('acquired', `acquired ${key} with fence ${fence}`, { key, fence });
  const [file, ...args] = words;
  const lost = (): void => command.end('lost');
  let killed = false;
  command.onReport((report) => {
    if (report.type === 'killed') killed = true;
    note(report, { lease, notes, limited });
  });
  const ended = command.start({
    file,
    args,
    env: { ...context.env, ...environment(lease) },
    killAfter: budget.killAfter,
    margin: MARGIN_MS,
    until: endOf(lease),
    nested: process.env['HOLDFAST_KEY'] !== undefined,
  });
  const feed = setInterval(() => feedGuard(lease, command), Math.min(500, budget.ttl / 20));
  signals.forwardTo((name) => command.signal(name));
  lease.signal.addEventListener('abort', lost, { once: true });
  try {
    const result = await ended;
    const { code, signal } = result;
    notes.event('ended', `the command ended with ${signal ?? code}`, { key, fence, code, signal });
    return await outcome(lease, { ...result, killed, limited });
  } finally {
    clearInterval(feed);
    signals.forwardTo(undefined);
    lease.signal.removeEventListener('abort', lost);
  }
}

/** Why a lease could not be renewed, if an option ended it: what was true at the first call. */
type Limited = () => string | undefined;

function limitOf({ limit, budget }: Context): Limited {
  const began = now();
  let isOver: boolean | undefined;
  return () => {
    // the guard ends the command before the lease ends, and the lease may be older than this
    const early = budget.reserve + 2 * budget.requestTimeout;
    isOver ??= limit !== undefined && now() - began > limit.ms - early;
    return isOver ? `the time of ${limit?.option} was almost over` : undefined;
  };
}

interface Noted {
  readonly lease: Held;
  readonly notes: Notes;
  readonly limited: Limited;
}

/** Tells what the guard reports. */
function note(report: Report, { lease, notes, limited }: Noted): void {
  const { key, fence } = lease;
  if (report.type === 'started') {
    const { pid } = report;
    notes.event('started', `started the command as process ${pid}`, { key, fence, pid });
  }
  if (report.type === 'ending') {
    const { why } = report;
    const text = `${reasonOf(lease, why, limited)}; ending the command with SIGTERM`;
    notes.warning('ending', text, { key, fence, reason: why });
  }
  if (report.type === 'outlives') {
    const { members } = report;
    const names = members.map(({ pid, name }) => `${pid} (${name || 'unknown'})`).join(', ');
    const what = lease.held
      ? 'the lock is kept until they end'
      : 'they may work beside the next holder';
    const text = `holdfast may not end these processes of the command: ${names}; ${what}`;
    notes.warning('outlives', text, { key, fence, held: lease.held, members });
  }
}

/** Why the command was ended. The error of a lost lease names the operator's reason. */
function reasonOf({ signal }: Held, why: EndReason, limited: Limited): string {
  if (why === 'lost' && signal.aborted) return failureOf(signal.reason).message;
  return (why === 'deadline' ? limited() : undefined) ?? REASONS[why];
}

/** A grant that ended before the command was started. Nothing was run, so another may follow. */
export class NotConfirmed extends Failure {
  constructor({ key, signal }: Held) {
    const why = signal.aborted ? failureOf(signal.reason).message : 'the store did not answer';
    const message = `the lock ${key} was granted and not confirmed (${why}); nothing was run`;
    super(EXIT.unavailable, message, 'check the connection to the server, try again');
  }
}

/** A lease that was granted by a message starts short, and is renewed at once. */
async function enoughTime(
  lease: Held,
  { requestTimeout, reserve }: Budget,
  signals: Signals,
): Promise<void> {
  const limit = now() + 2 * requestTimeout;
  while (signals.first === undefined && (!lease.held || lease.remaining <= reserve)) {
    if (lease.signal.aborted || now() > limit) throw new NotConfirmed(lease);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function environment(lease: Held): Record<string, string> {
  return {
    HOLDFAST_KEY: lease.key,
    HOLDFAST_FENCE: String(lease.fence),
    HOLDFAST_DEADLINE: String(Math.floor(Date.now() + lease.remaining)),
  };
}

/** The end of the lease. The clock is read first, so the result is never too late. */
function endOf(lease: Held): number {
  const time = now();
  return time + lease.remaining;
}

/** A lease in doubt is not held: the guard keeps the last end that it knows. */
function feedGuard(lease: Held, command: GuardedCommand): void {
  const until = endOf(lease);
  if (lease.held) command.extend(until);
}

interface Outcome extends Ended {
  readonly killed: boolean;
  readonly limited: Limited;
}

async function outcome(lease: Held, result: Outcome): Promise<number> {
  const { killed, limited, why } = result;
  if (why !== undefined) {
    const over = why === 'deadline' ? limited() : undefined;
    const isForced = why === 'lost' && / by force/.test(String(lease.signal.reason));
    const reason = isForced ? 'the lock was broken' : (over ?? REASONS[why]);
    const advice = isForced ? 'holdfast inspect shows the holder' : adviceOn(over);
    throw new Failure(
      EXIT.lost,
      `${reason}, so the command was ${killed ? 'killed' : 'ended'}`,
      advice,
    );
  }
  if (!(await lease.verify())) {
    const message = `the lock ${lease.key} was lost before the command ended`;
    throw new Failure(EXIT.lost, message, 'another holder may have run at the same time');
  }
  return result.signal === null ? (result.code ?? EXIT.internal) : signalCode(result.signal);
}

function adviceOn(limit: string | undefined): string {
  return limit === undefined
    ? 'check the connection to the server; a longer --ttl bridges longer outages'
    : 'give the command more time, or let it do less';
}

/** The failure for an error that says that the lock was not free. */
export function notFree(error: unknown, code: number, wait?: number): Failure | undefined {
  if (!isHoldfastError(error, 'HOLDFAST_TIMEOUT')) return undefined;
  const { advice, message } = failureOf(error);
  return new Failure(code, wait === 0 ? `the lock ${error.key} is not free` : message, advice);
}
