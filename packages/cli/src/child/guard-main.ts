/**
 * The guard process: it starts the command, and ends it when the lease ends or `holdfast` dies.
 *
 *     idle --start--> runs --command ended--> sweep --group gone--> report, exit
 *       \               \--lost, deadline, holdfast died--> SIGTERM --kill-after--> SIGKILL
 *        \--holdfast died--> exit
 *
 * It is a process of its own, so that the command also ends if `holdfast` is killed or stopped.
 * The command is in a session and process group of its own, and signals go to the whole group.
 *
 * This process must not use `process.stdin`, `stdout`, `stderr` or `console`: they would make pipes
 * that the command inherits non-blocking.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { groupLives, signalGroup } from './group.js';
import { type EndReason, now, type Order, type Report, type StartOrder } from './protocol.js';

/** Milliseconds between two checks whether the group is gone. */
const CHECK_MS = 20;
/** Milliseconds after SIGKILL in which the group is gone. */
const GONE_MS = 200;

class Guarded {
  readonly #order: StartOrder;
  readonly #child: ChildProcess;
  #until: number;
  #deadline: NodeJS.Timeout | undefined;
  #kill: NodeJS.Timeout | undefined;
  #why: EndReason | undefined;
  #killed = false;

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

  signal(name: NodeJS.Signals): boolean {
    return signalGroup(this.#child.pid as number, name);
  }

  end(why: EndReason): void {
    if (this.#why !== undefined) return;
    this.#why = why;
    report({ type: 'ending', why });
    const left = this.#terminate(why === 'orphaned' && this.#order.nested);
    this.#kill = setTimeout(() => {
      this.#killed = true;
      report({ type: 'killed' });
      this.signal('SIGKILL');
    }, left);
  }

  /** Sends SIGTERM. Returns the milliseconds until SIGKILL. */
  #terminate(atOnce = false): number {
    if (atOnce) return 0;
    this.signal('SIGTERM');
    // a stopped process handles SIGTERM when it continues
    this.signal('SIGCONT');
    const { killAfter, margin } = this.#order;
    return Math.max(0, Math.min(killAfter, this.#until - margin - now()));
  }

  /** Ends the processes that the command left in its group, because the lock protects them too. */
  async #ended(code: number | null, signal: NodeJS.Signals | null): Promise<void> {
    clearTimeout(this.#deadline);
    // the whole group is dying after SIGKILL
    const left = this.#killed || !this.#lives() ? 0 : this.#terminate();
    clearTimeout(this.#kill);
    if (!(await this.#gone(left))) {
      this.signal('SIGKILL');
      await this.#gone(GONE_MS);
    }
    leave({ type: 'ended', code, signal, why: this.#why });
  }

  #lives(): boolean {
    return groupLives(this.#child.pid as number);
  }

  async #gone(within: number): Promise<boolean> {
    const end = now() + within;
    while (this.#lives()) {
      if (now() >= end) return false;
      await new Promise((resolve) => setTimeout(resolve, CHECK_MS));
    }
    return true;
  }
}

let guarded: Guarded | undefined;
let done = false;

function receive(order: Order): void {
  if (order.do === 'start') guarded = new Guarded(order);
  if (order.do === 'extend') guarded?.extend(order.until);
  if (order.do === 'signal') guarded?.signal(order.name);
  if (order.do === 'end') guarded?.end(order.why);
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
