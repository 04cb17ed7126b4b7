/** Workers in separate processes: killed by SIGKILL, paused by SIGSTOP. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { now, sleep } from '../time.js';
import type { Task } from '../task.js';
import {
  capital,
  type WorkerGroup,
  type WorkerHost,
  nameOf,
  type DemoWorker,
  type DisplayTexts,
} from './workers.js';
import type { Step, ToDemo, ToWorker } from './messages.js';
import { connect, placeOf } from './connection.js';

const WORKER = fileURLToPath(new URL('./worker-main.js', import.meta.url));
const CLOSE_TIMEOUT_MS = 2000;

export async function processWorkers(
  size: number,
  url: string,
  host: WorkerHost,
): Promise<WorkerGroup> {
  const prefix = `holdfast-demo:${process.pid}:`;
  const connection = await connect(url, prefix, 'the demo');
  const workers = Array.from({ length: size }, (_, index) => {
    return new ProcessWorker(nameOf(index), host);
  });
  const close = async (): Promise<void> => {
    await Promise.all(workers.map((worker) => worker.close()));
    await connection.close();
  };
  try {
    await Promise.all(workers.map((worker) => worker.connect(url, prefix)));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    workers,
    observer: connection.holdfast,
    texts: textsFor(size, url),
    renews: true,
    close,
  };
}

function textsFor(size: number, url: string): DisplayTexts {
  return {
    summary: `${size} workers in separate processes, locks in ${placeOf(url)}`,
    killed: 'is killed (SIGKILL)',
    paused: 'is stopped (SIGSTOP)',
    resumed: 'is resumed (SIGCONT)',
    killIntro: (victim, next) => [
      `${capital(victim)} is killed (SIGKILL) while it holds the lock, so it does not release it.`,
      `${capital(next)} acquires the lock when the lease ends, and not before.`,
    ],
    pauseIntro: (pausedWorker) => [
      `${capital(pausedWorker)} is stopped (SIGSTOP) for longer than its lease. After SIGCONT it`,
      'writes without checking the lease. The resource refuses its old fence.',
    ],
  };
}

class ProcessWorker implements DemoWorker {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #host: WorkerHost;
  readonly #gone: Promise<unknown>;
  #ready: () => void = () => undefined;
  #expected = false;

  constructor(name: string, host: WorkerHost) {
    this.name = name;
    this.#host = host;
    this.#child = fork(WORKER, [name], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    this.#child.on('message', (message) => this.#onMessage(message as ToDemo));
    // a message to a process that has just exited is not an error; its exit is handled below
    this.#child.on('error', () => undefined);
    this.#gone = once(this.#child, 'exit').then(() => {
      const message = `the process of ${name} exited unexpectedly`;
      if (!this.#expected) host.report(name, { what: 'failed', message }, now());
    });
  }

  /** Resolves when the worker is connected. */
  async connect(url: string, prefix: string): Promise<void> {
    const ready = new Promise<void>((resolve) => {
      this.#ready = resolve;
    });
    this.#send({ type: 'connect', url, prefix });
    const ended = this.#gone.then(() => {
      throw new Error(`${this.name} could not start`);
    });
    await Promise.race([ready, ended]);
  }

  start(task: Task): void {
    this.#send({ type: 'start', task });
  }

  proceed(): void {
    this.#send({ type: 'proceed' });
  }

  async kill(): Promise<void> {
    this.#expected = true;
    this.#child.kill('SIGKILL');
    await this.#gone;
  }

  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /** Asks the process to release its locks and exit, and kills it after a timeout. */
  async close(): Promise<void> {
    this.#expected = true;
    this.resume();
    this.#send({ type: 'close' });
    const closing = new AbortController();
    const timeout = sleep(CLOSE_TIMEOUT_MS, closing.signal).then(
      () => this.kill(),
      () => undefined,
    );
    await Promise.race([this.#gone, timeout]);
    closing.abort();
  }

  #send(message: ToWorker): void {
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  #onMessage(message: ToDemo): void {
    if (message.type === 'ready') this.#ready();
    else if (message.type === 'report') this.#host.report(this.name, message.body, message.at);
    else void this.#answer(message.call, message.step);
  }

  async #answer(call: number, step: Step): Promise<void> {
    const access = this.#host.access(this.name);
    const result = step.do === 'write' ? await access.write(step.fence) : 0;
    if (step.do === 'enter') await access.enter();
    if (step.do === 'leave') await access.leave();
    this.#send({ type: 'answer', call, result });
  }
}
