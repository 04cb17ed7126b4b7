/**
 * Workers in this process: each has its own `Holdfast` instance, all on one memory store, as
 * processes would have on a server.
 *
 * There is no process to kill or to pause. So a worker that will be killed or paused acquires its
 * lock without renewal and then does nothing: the other workers see the same effect.
 */
import { Holdfast, memory } from 'holdfast';
import type { ReportBody } from '../reports.js';
import { now } from '../time.js';
import { runTask, type TaskContext, type Task } from '../task.js';
import {
  capital,
  type WorkerGroup,
  type WorkerHost,
  nameOf,
  type DemoWorker,
  type DisplayTexts,
} from './workers.js';

export function embeddedWorkers(size: number, host: WorkerHost): WorkerGroup {
  const store = memory();
  const observer = new Holdfast(store);
  const workers = Array.from({ length: size }, (_, index) => {
    return new EmbeddedWorker(nameOf(index), new Holdfast(store), host);
  });
  return {
    workers,
    observer,
    texts: textsFor(size),
    renews: false,
    async close() {
      const all = [observer, ...workers.map(({ holdfast }) => holdfast)];
      await Promise.all(all.map((holdfast) => holdfast.close({ grace: 0 })));
    },
  };
}

function textsFor(size: number): DisplayTexts {
  return {
    summary: `embedded: ${size} workers in this process, locks in memory, no server`,
    killed: 'stops without releasing',
    paused: 'is paused, its lease is not renewed',
    resumed: 'is resumed, and has not noticed the pause',
    killIntro: (victim, next) => [
      `Embedded, no process can be killed: ${victim} acquires the lock without renewal,`,
      `and never releases it. ${capital(next)} acquires it when the lease ends, not before.`,
    ],
    pauseIntro: (pausedWorker) => [
      `Embedded, no process can be paused: ${pausedWorker} waits without renewal until its`,
      'lease has ended. Then it writes without checking the lease. The resource refuses.',
    ],
  };
}

class EmbeddedWorker implements DemoWorker {
  readonly name: string;
  readonly holdfast: Holdfast;
  readonly #host: WorkerHost;
  #dead = false;
  #proceed: () => void = () => undefined;

  constructor(name: string, holdfast: Holdfast, host: WorkerHost) {
    this.name = name;
    this.holdfast = holdfast;
    this.#host = host;
  }

  start(task: Task): void {
    const proceeded = new Promise<void>((resolve) => {
      this.#proceed = resolve;
    });
    const context: TaskContext = {
      resource: this.#host.access(this.name),
      report: (body: ReportBody) => {
        if (!this.#dead) this.#host.report(this.name, body, now());
      },
      untilProceed: () => proceeded,
    };
    void runTask(this.holdfast, task, context);
  }

  proceed(): void {
    this.#proceed();
  }

  async kill(): Promise<void> {
    this.#dead = true;
  }

  /** Nothing to do: its lease is not renewed, and it waits for `proceed` already. */
  pause(): void {}

  resume(): void {}
}
