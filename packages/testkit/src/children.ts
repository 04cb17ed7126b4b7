/**
 * Child processes of a test: Node scripts that exchange messages with the test, and that the test
 * can stop, resume and kill.
 */
import { type ChildProcess, fork, spawn, type StdioOptions } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { guard } from './guardian.js';
import { paced } from './pace.js';

/** A JSON message between parent and child. The child sends it with `process.send`. */
export interface Message {
  type: string;
  [key: string]: unknown;
}

/** How a process ended. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Options of `spawnWorker`. */
export interface WorkerOptions {
  args?: string[];
  /** In addition to this process's own environment. */
  env?: Record<string, string>;
  /** Words before the command; they must execute that command in the same process. */
  prefix?: readonly string[];
}

interface Waiting {
  type: string;
  resolve: (message: Message) => void;
  reject: (error: Error) => void;
}

/** Starts a Node script (JavaScript) as a separate process. */
export function spawnWorker(file: string | URL, options: WorkerOptions = {}): Worker {
  const { args = [], prefix = [] } = options;
  const env = { ...process.env, ...options.env };
  const stdio: StdioOptions = ['ignore', 'pipe', 'pipe', 'ipc'];
  const [first, ...rest] = prefix;
  if (first !== undefined) {
    const path = file instanceof URL ? fileURLToPath(file) : file;
    return new Worker(spawn(first, [...rest, process.execPath, path, ...args], { env, stdio }));
  }
  // no `execArgv`: the flags of the test runner must not apply to the worker
  return new Worker(fork(file, args, { env, execArgv: [], stdio }));
}

/** A started process; `await using` kills it. */
export class Worker implements AsyncDisposable {
  /** All messages from the process. */
  readonly messages: Message[] = [];
  /** Resolves when the process has ended, for any reason. */
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;
  /** Messages that `next` has not returned yet. */
  #unread: Message[] = [];
  #waiting: Waiting[] = [];
  #output = '';
  #ended: Error | undefined;

  /** @internal */
  constructor(child: ChildProcess) {
    this.#child = child;
    guard(child);
    child.on('message', (message) => this.#receive(message as Message));
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
      });
    }
    this.exited = new Promise((resolve) => {
      child.once('error', (error) => {
        this.#end(error);
        if (child.pid === undefined) resolve({ code: null, signal: null });
      });
      // `close` is emitted after the last output and message; `exit` may be emitted before them
      child.once('close', (code, signal) => {
        this.#end(new Error(`the worker ended (${signal ?? code})\n${this.#output}`));
        resolve({ code, signal });
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** The output of the process on stdout and stderr. */
  get output(): string {
    return this.#output;
  }

  /** Sends a message to the worker; rejects if the worker has ended. */
  send(message: Message): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#child.send(message, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  /**
   * The next unread message of this type. Rejects when the worker ends first, or after `within` ms:
   * the time in which a program starts.
   */
  next(type: string, { within = paced(20_000) }: { within?: number } = {}): Promise<Message> {
    const index = this.#unread.findIndex((message) => message.type === type);
    if (index >= 0) return Promise.resolve(this.#unread.splice(index, 1)[0] as Message);
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { type, resolve, reject };
      this.#waiting.push(waiting);
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((each) => each !== waiting);
        reject(new Error(`no message ${type} within ${within} ms\n${this.#output}`));
      }, within);
      waiting.resolve = (message) => {
        clearTimeout(timer);
        resolve(message);
      };
      waiting.reject = (error) => {
        clearTimeout(timer);
        reject(error);
      };
    });
  }

  /** Sends a signal: `SIGKILL` by default; `SIGSTOP` stops and `SIGCONT` resumes the process. */
  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    this.#child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill();
    await this.exited;
  }

  #receive(message: Message): void {
    this.messages.push(message);
    const index = this.#waiting.findIndex(({ type }) => type === message.type);
    if (index >= 0) this.#waiting.splice(index, 1)[0]?.resolve(message);
    else this.#unread.push(message);
  }

  #end(error: Error): void {
    this.#ended ??= error;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(this.#ended);
  }
}
