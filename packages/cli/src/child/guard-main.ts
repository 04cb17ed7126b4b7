/**
 * The guard process: it starts the command, and ends it when the lease ends or `holdfast` dies.
 *
 *     idle --start--> runs --command ended--> sweep --all members gone--> report, exit
 *       \               \--lost, deadline, holdfast died--> SIGTERM --kill-after--> SIGKILL
 *        \--holdfast died--> exit
 *
 * It is a process of its own, so that the command also ends if `holdfast` is killed or stopped.
 * The command is in a session and process group of its own. Signals of others go to the group; the
 * signals that end the command go to all its processes, see `members.ts`. The end is reported when
 * none of them lives, so that the lock is kept until then.
 *
 * This process must not use `process.stdin`, `stdout`, `stderr` or `console`: they would make pipes
 * that the command inherits non-blocking.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { Members } from './members.js';
import { type EndReason, now, type Order, type Report, type StartOrder } from './protocol.js';

class Guarded {
  readonly #order: StartOrder;
  readonly #child: ChildProcess;
  /** `undefined` if the command did not start. */
  readonly #members: Members | undefined;
  #until: number;
  #deadline: NodeJS.Timeout | undefined;
  #kill: NodeJS.Timeout | undefined;
  /** When SIGKILL follows the first SIGTERM. */
  #killAt: number | undefined;
  #why: EndReason | undefined;
  #killed: Promise<void> | undefined;

  constructor(order: StartOrder) {
    this.#order = order;
    this.#until = order.until;
    const { NODE_OPTIONS: _, HOLDFAST_NODE_OPTIONS: own, ...env } = process.env;
    const options = own === undefined ? {} : { NODE_OPTIONS: own };
    this.#child = spawn(order.file, order.args, {
      detached: true,
      env: { ...env, ...options, ...order.env },
      stdio: 'inherit',
    });
    this.#child.once('error', ({ code = '', message }: NodeJS.ErrnoException) => {
      if (this.#child.pid === undefined) leave({ type: 'not-started', code, message });
    });
    this.#child.once('exit', (code, signal) => void this.#ended(code, signal));
    if (this.#child.pid === undefined) return;
    this.#members = new Members(this.#child.pid);
    report({ type: 'started', pid: this.#child.pid });
    this.extend(order.until);
  }

  extend(until: number): void {
    this.#until = until;
    clearTimeout(this.#deadline);
    const { killAfter, margin } = this.#order;
    const left = until - killAfter - margin - now();
    this.#deadline = setTimeout(() => this.end('deadline'), Math.min(left, 2 ** 31 - 1));
  }

  signal(name: NodeJS.Signals): void {
    this.#members?.signalGroup(name);
  }

  end(why: EndReason): void {
    if (this.#why !== undefined || this.#members === undefined) return;
    const members = this.#members;
    this.#why = why;
    report({ type: 'ending', why });
    const isLate = why === 'orphaned' && this.#order.nested;
    if (isLate) this.#killAt = now();
    const left = isLate ? 0 : this.#terminate(members);
    this.#kill = setTimeout(() => {
      report({ type: 'killed' });
      void this.#killAll(members);
    }, left);
  }

  /** Sends SIGTERM. Returns the milliseconds until SIGKILL. */
  #terminate(members: Members): number {
    members.signal('SIGTERM');
    // a stopped process handles SIGTERM when it continues
    members.signal('SIGCONT');
    const { killAfter, margin } = this.#order;
    const time = now();
    this.#killAt ??= Math.min(time + killAfter, this.#until - margin);
    return Math.max(0, this.#killAt - time);
  }

  /** Ends the processes that the command left behind, because the lock protects them too. */
  async #ended(code: number | null, signal: NodeJS.Signals | null): Promise<void> {
    clearTimeout(this.#deadline);
    const members = this.#members as Members;
    const isOver = this.#killed !== undefined || members.living().length === 0;
    const left = isOver ? 0 : this.#terminate(members);
    clearTimeout(this.#kill);
    if (!(await members.gone(left))) await this.#killAll(members);
    leave({ type: 'ended', code, signal, why: this.#why });
  }

  /** Resolves when no process of the command lives, or if `holdfast` is gone. */
  #killAll(all: Members): Promise<void> {
    this.#killed ??= all.kill(
      (members) => report({ type: 'outlives', members }),
      () => process.connected,
    );
    return this.#killed;
  }
}

let guarded: Guarded | undefined;
let done = false;

function receive(order: Order): void {
  if (order.do === 'start') start(order);
  if (order.do === 'extend') guarded?.extend(order.until);
  if (order.do === 'signal') guarded?.signal(order.name);
  if (order.do === 'end') guarded?.end(order.why);
}

function start(order: StartOrder): void {
  try {
    guarded = new Guarded(order);
  } catch (error) {
    // for some errors of the system, `spawn` throws
    const { code = '', message } = error as NodeJS.ErrnoException;
    leave({ type: 'not-started', code, message });
  }
}

function report(message: Report): void {
  // without a callback, an error of the closed channel would end this process
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

/** Reports the end. `holdfast` then disconnects, so it never sees the exit before the report. */
function leave(message: Report): void {
  done = true;
  if (!process.connected) process.exit(0);
  report(message);
}

// A service manager may send these to all processes of a service. The guard must outlive them.
for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const) {
  process.on(name, () => undefined);
}
process.on('message', (order) => receive(order as Order));
process.on('disconnect', () => {
  if (guarded === undefined || done) process.exit(0);
  guarded.end('orphaned');
});
