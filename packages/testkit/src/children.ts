/**
 * Other processes that a test plays with: Node scripts that talk by messages, and that can be
 * frozen and killed.
 */
import { type ChildProcess, fork, spawn, type StdioOptions } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { guard } from './guardian.js';

/** What parent and child say to each other, as JSON. The child says it by `process.send`. */
export interface Message {
  type: string;
  [key: string]: unknown;
}

/** How a process ended. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** What a worker is given. */
export interface WorkerOptions {
  args?: string[];
  /** In addition to this process's own environment. */
  env?: Record<string, string>;
  /** Words before the command that starts it, which must end in becoming that command. */
  prefix?: readonly string[];
}

interface Waiting {
  type: string;
  resolve: (message: Message) => void;
  reject: (error: Error) => void;
}

/** Starts a Node script (JavaScript) as a process of its own. */
export function spawnWorker(file: string | URL, options: WorkerOptions = {}): Worker {
  const { args = [], prefix = [] } = options;
  const env = { ...process.env, ...options.env };
  const stdio: StdioOptions = ['ignore', 'pipe', 'pipe', 'ipc'];
  const [first, ...rest] = prefix;
  if (first !== undefined) {
    const path = file instanceof URL ? fileURLToPath(file) : file;
    return new Worker(spawn(first, [...rest, process.execPath, path, ...args], { env, stdio }));
  }
  // the flags of a test runner are not meant for it
  return new Worker(fork(file, args, { env, execArgv: [], stdio }));
}

/** A process that was started; `await using` kills it. */
export class Worker implements AsyncDisposable {
  /** Everything it ever said. */
  readonly messages: Message[] = [];
  /** Resolves when it is gone, however it went. */
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;
  /** Messages that nobody has asked for with `next` yet. */
  #fresh: Message[] = [];
  #waiting: Waiting[] = [];
  #output = '';
  #gone: Error | undefined;

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
      // `close` comes after the last of its output and messages, `exit` may come before
      child.once('close', (code, signal) => {
        this.#end(new Error(`the worker ended (${signal ?? code})\n${this.#output}`));
        resolve({ code, signal });
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** What it wrote to stdout and stderr. */
  get output(): string {
    return this.#output;
  }

  /** Says something to the worker; rejects if it is gone. */
  send(message: Message): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#child.send(message, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  /**
   * The next message of this type that was not given yet. Rejects when the worker ends first, or
   * after `within`.
   */
  next(type: string, { within = 10_000 }: { within?: number } = {}): Promise<Message> {
    const index = this.#fresh.findIndex((message) => message.type === type);
    if (index >= 0) return Promise.resolve(this.#fresh.splice(index, 1)[0] as Message);
    if (this.#gone !== undefined) return Promise.reject(this.#gone);
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

  /** Sends a signal: `SIGKILL` by default; `SIGSTOP` and `SIGCONT` freeze it and let it go on. */
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
    else this.#fresh.push(message);
  }

  #end(error: Error): void {
    this.#gone ??= error;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(this.#gone);
  }
}
