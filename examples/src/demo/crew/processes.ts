/** Workers in processes of their own, on a server: killed by SIGKILL, stopped by SIGSTOP. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { now, sleep } from '../time.js';
import type { Task } from '../work.js';
import { capital, type Crew, type Director, nameOf, type Player, type Words } from './crew.js';
import type { Step, ToDemo, ToWorker } from './messages.js';
import { connect, hostOf } from './redis.js';

const WORKER = fileURLToPath(new URL('../worker.js', import.meta.url));
const FAREWELL_MS = 2000;

export async function processCrew(size: number, url: string, director: Director): Promise<Crew> {
  const prefix = `holdfast-demo:${process.pid}:`;
  const connection = await connect(url, prefix, 'the demo');
  const players = Array.from({ length: size }, (_, index) => {
    return new ProcessPlayer(nameOf(index), director);
  });
  const dismiss = async (): Promise<void> => {
    await Promise.all(players.map((player) => player.dismiss()));
    await connection.close();
  };
  try {
    await Promise.all(players.map((player) => player.hello(url, prefix)));
  } catch (error) {
    await dismiss();
    throw error;
  }
  return {
    players,
    observer: connection.holdfast,
    words: wordsFor(size, url),
    renews: true,
    dismiss,
  };
}

function wordsFor(size: number, url: string): Words {
  return {
    cast: `${size} workers in processes of their own, locks in ${hostOf(url)}`,
    kill: 'is killed (SIGKILL)',
    pause: 'is stopped (SIGSTOP)',
    resume: 'goes on (SIGCONT)',
    killing: (victim, next) => [
      `${capital(victim)} is killed (SIGKILL) while it holds the lock, and releases nothing.`,
      `See ${next} take over when the lease ends, and not before.`,
    ],
    pausing: (sleeper) => [
      `${capital(sleeper)} is stopped (SIGSTOP) for longer than its lease. When it goes on,`,
      'it writes without looking. See the resource refuse its old fence.',
    ],
  };
}

class ProcessPlayer implements Player {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #director: Director;
  readonly #gone: Promise<unknown>;
  #ready: () => void = () => undefined;
  #expected = false;

  constructor(name: string, director: Director) {
    this.name = name;
    this.#director = director;
    this.#child = fork(WORKER, [name], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    this.#child.on('message', (message) => this.#hear(message as ToDemo));
    // a word to one that has just gone is no error: that it has gone is
    this.#child.on('error', () => undefined);
    this.#gone = once(this.#child, 'exit').then(() => {
      const message = `the process of ${name} ended`;
      if (!this.#expected) director.tell(name, { what: 'failed', message }, now());
    });
  }

  /** Resolves when the worker has its connection. */
  async hello(url: string, prefix: string): Promise<void> {
    const ready = new Promise<void>((resolve) => {
      this.#ready = resolve;
    });
    this.#say({ say: 'hello', url, prefix });
    const ended = this.#gone.then(() => {
      throw new Error(`${this.name} could not start`);
    });
    await Promise.race([ready, ended]);
  }

  start(task: Task): void {
    this.#say({ say: 'start', task });
  }

  proceed(): void {
    this.#say({ say: 'proceed' });
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

  /** Lets it release what it has, and ends it by force if it takes too long. */
  async dismiss(): Promise<void> {
    this.#expected = true;
    this.resume();
    this.#say({ say: 'close' });
    const farewell = new AbortController();
    const late = sleep(FAREWELL_MS, farewell.signal).then(
      () => this.kill(),
      () => undefined,
    );
    await Promise.race([this.#gone, late]);
    farewell.abort();
  }

  #say(message: ToWorker): void {
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  #hear(message: ToDemo): void {
    if (message.say === 'ready') this.#ready();
    else if (message.say === 'news') this.#director.tell(this.name, message.news, message.at);
    else void this.#answer(message.call, message.step);
  }

  async #answer(call: number, step: Step): Promise<void> {
    const access = this.#director.access(this.name);
    const result = step.do === 'write' ? await access.write(step.fence) : 0;
    if (step.do === 'enter') await access.enter();
    if (step.do === 'leave') await access.leave();
    this.#say({ say: 'answer', call, result });
  }
}
