/** The side of `holdfast` of a guarded command, see `guard-main.ts`. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXIT, Failure, usage } from '../failure.js';
import { Members } from './members.js';
import type { EndReason, Order, Report, StartOrder } from './protocol.js';

/** How a command ended. */
export type Ended = Extract<Report, { readonly type: 'ended' }>;

const GUARD = fileURLToPath(new URL('guard-main.js', import.meta.url));
/** One command and its guard. The guard starts with this object, the command with `start`. */
export class GuardedCommand {
  readonly #guard: ChildProcess;
  readonly #reports: ((report: Report) => void)[] = [];
  /** Resolves when the guard has ended, or could not be started. */
  readonly #gone: Promise<string>;
  #pid: number | undefined;

  constructor() {
    if (process.platform === 'win32') {
      throw usage(
        'commands run on Linux and macOS, not on Windows',
        'use the Linux subsystem, WSL',
      );
    }
    // The options of Node in the environment are for the command, not for the guard.
    const { NODE_OPTIONS: options, ...rest } = process.env;
    const env = options === undefined ? rest : { ...rest, HOLDFAST_NODE_OPTIONS: options };
    this.#guard = spawn(process.execPath, [GUARD], {
      detached: true,
      env,
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    });
    this.#gone = new Promise((resolve) => {
      this.#guard.once('exit', () =>
        resolve('the guard process died, so the command was killed or not started'),
      );
      this.#guard.on('error', ({ message }) => {
        if (this.#guard.pid === undefined)
          resolve(`the guard process could not be started: ${message}`);
      });
    });
    this.#guard.on('message', (report) => this.#tell(report as Report));
  }

  /** Calls the listener for each report of the guard. */
  onReport(listener: (report: Report) => void): void {
    this.#reports.push(listener);
  }

  /** Starts the command, and resolves when all its processes are gone. */
  start(order: Omit<StartOrder, 'do'>): Promise<Ended> {
    const ended = new Promise<Ended>((resolve, reject) => {
      this.onReport((report) => {
        if (report.type === 'started') this.#pid = report.pid;
        if (report.type !== 'ended' && report.type !== 'not-started') return;
        this.#pid = undefined;
        this.dismiss();
        if (report.type === 'ended') resolve(report);
        else reject(notStarted(order.file, report));
      });
      void this.#gone.then(async (failure) => {
        await this.#kill();
        reject(new Failure(EXIT.internal, failure));
      });
    });
    this.#send({ do: 'start', ...order });
    return ended;
  }

  extend(until: number): void {
    this.#send({ do: 'extend', until });
    // a stopped guard would end nothing
    this.#guard.kill('SIGCONT');
  }

  signal(name: NodeJS.Signals): void {
    this.#send({ do: 'signal', name });
  }

  end(why: EndReason): void {
    this.#send({ do: 'end', why });
    this.#guard.kill('SIGCONT');
  }

  /** Ends a guard that has no command. */
  dismiss(): void {
    if (this.#guard.connected) this.#guard.disconnect();
  }

  #send(order: Order): void {
    // the callback takes the error of a guard that has just ended
    if (this.#guard.connected) this.#guard.send(order, () => undefined);
  }

  /** Ends the command of a guard that has died. */
  async #kill(): Promise<void> {
    if (this.#pid === undefined) return;
    await new Members(this.#pid).kill((members) => this.#tell({ type: 'outlives', members }));
  }

  #tell(report: Report): void {
    for (const listener of this.#reports) listener(report);
  }
}

function notStarted(file: string, { code, message }: { code: string; message: string }): Failure {
  if (code === 'ENOENT') {
    return new Failure(EXIT.notFound, `${file}: command not found`, 'check its name and the PATH');
  }
  if (['ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'E2BIG', 'ETXTBSY'].includes(code)) {
    return new Failure(EXIT.notExecutable, `${file} cannot be executed: ${code}`);
  }
  const found = ['EACCES', 'EPERM', 'ENOEXEC', 'EISDIR'].includes(code);
  const advice = found ? 'make it executable with chmod +x' : '';
  return new Failure(found ? EXIT.notExecutable : EXIT.internal, message, advice);
}

/**
 * Before a lock is asked for: a command that is not there would use a run that another machine can
 * do. It may still be missing, or not executable, when it is started.
 * @throws a failure
 */
export function mustBeFound(file: string, path: string | undefined = process.env['PATH']): void {
  // without a PATH, the system has one of its own
  const places = file.includes('/') ? [''] : path?.split(delimiter);
  if (places?.every((place) => !existsSync(place === '' ? file : join(place, file))) === true)
    throw notStarted(file, { code: 'ENOENT', message: '' });
}
