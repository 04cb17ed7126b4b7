/**
 * The process of one server: starts it and waits for its first answer, stops, pauses and kills it,
 * and sends commands over a separate connection.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { guard, guardFolder } from './guardian.js';
import { RawClient } from './raw-client.js';
import { paced } from './pace.js';
import { sleep } from './wait.js';

/** The user of the test kit's own connection. */
export interface Admin {
  user: string;
  password: string;
}

/** Everything needed to start the same server again. */
export interface Launch {
  command: string[];
  args: string[];
  folder: string;
  files: Map<string, string>;
  host: string;
  port: number;
  tlsPort: number | undefined;
  admin: Admin | undefined;
  /** In addition to this process's own environment. */
  env: Readonly<Record<string, string>>;
}

const START_MS = 15_000;
const STOP_MS = 5_000;
const COMMAND_MS = 5_000;

/** The process of one server, over its restarts. */
export class Process {
  readonly launch: Launch;
  #child: ChildProcess | undefined;
  #exit: Promise<void> = Promise.resolve();
  #client: Promise<RawClient> | undefined;

  constructor(launch: Launch) {
    this.launch = launch;
  }

  get pid(): number {
    return this.#child?.pid ?? -1;
  }

  /** Starts the server and waits until it answers; `more` are arguments for this start only. */
  async start(more: readonly string[] = []): Promise<void> {
    const { command, args, folder, files, env } = this.launch;
    const [file = '', ...words] = command;
    // written at each start, because `stop` deletes the folder
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
    guardFolder(folder);
    for (const [name, text] of files) writeFileSync(join(folder, name), text);
    const log = openSync(this.#path('server.log'), 'w');
    const child = spawn(file, [...words, this.#path('server.conf'), ...args, ...more], {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.#child = child;
    let failure: Error | undefined;
    this.#exit = new Promise((resolve) => {
      child.once('exit', () => resolve());
      child.once('error', (error) => {
        failure = error;
        resolve();
      });
    });
    guard(child);
    const deadline = performance.now() + paced(START_MS);
    while (!(await this.#answers())) {
      if (failure !== undefined || this.#ended()) throw this.#failed('exited at start', failure);
      if (performance.now() > deadline) throw this.#failed('no answer in time');
      await sleep(5);
    }
  }

  /** Stops the server by SIGTERM, or by SIGKILL after a timeout. */
  async stop(): Promise<void> {
    this.signal('SIGTERM');
    // a stopped process handles SIGTERM only after SIGCONT
    this.signal('SIGCONT');
    const timer = setTimeout(() => this.signal('SIGKILL'), STOP_MS);
    await this.#gone();
    clearTimeout(timer);
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.#gone();
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.#ended()) this.#child?.kill(signal);
  }

  /** The server's log. */
  log(): string {
    const path = this.#path('server.log');
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  /** One command over the kit's connection. */
  async command(...words: (string | number)[]): Promise<unknown> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#disconnect();
        reject(new Error(`the server did not answer ${words[0]} in time`));
      }, paced(COMMAND_MS));
    });
    try {
      return await Promise.race([this.#connected().then((one) => one.send(...words)), timeout]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #connected(): Promise<RawClient> {
    const before = await this.#client?.catch(() => undefined);
    if (before === undefined || before.closed) this.#client = this.#connect();
    return this.#client as Promise<RawClient>;
  }

  async #connect(): Promise<RawClient> {
    const { host, port, admin } = this.launch;
    const client = await RawClient.connect({ host, port });
    if (admin !== undefined) await client.send('AUTH', admin.user, admin.password);
    return client;
  }

  #disconnect(): void {
    void this.#client?.then(
      (client) => client.close(),
      () => undefined,
    );
    this.#client = undefined;
  }

  // another server may use the port: only the right one was started with this configuration file
  async #answers(): Promise<boolean> {
    try {
      const pong = await this.command('PING');
      const info = String(await this.command('INFO', 'server'));
      return pong === 'PONG' && info.includes(`config_file:${this.#path('server.conf')}`);
    } catch {
      return false;
    }
  }

  #ended(): boolean {
    const child = this.#child;
    return child?.pid === undefined || child.exitCode !== null || child.signalCode !== null;
  }

  async #gone(): Promise<void> {
    await this.#exit;
    this.#disconnect();
  }

  #failed(what: string, cause?: Error): Error {
    const command = this.launch.command.at(-1);
    const log = this.log().trim() || `${cause}`;
    // reports of a failed test may have the first line only
    const [last] = log.split('\n').slice(-1);
    return new Error(`${command}: ${what}: ${last}\n${log}`, { cause });
  }

  #path(name: string): string {
    return join(this.launch.folder, name);
  }
}
