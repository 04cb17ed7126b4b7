/** The workers of the demo: the interface of its two implementations. */
import type { Holdfast } from 'holdfast';
import type { ReportBody } from '../reports.js';
import type { Access } from '../resource.js';
import type { Task } from '../task.js';

export interface DemoWorker {
  readonly name: string;
  start(task: Task): void;
  /** Lets a task of two writes continue with the second one. */
  proceed(): void;
  /** Ends the worker without a release or a report. Resolves when it has stopped. */
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
}

/** Texts that differ between the implementations. */
export interface DisplayTexts {
  /** One line that describes the workers and the store. */
  readonly summary: string;
  readonly killed: string;
  readonly paused: string;
  readonly resumed: string;
  /** The introductions of scenarios 2 and 3. */
  readonly killIntro: (victim: string, next: string) => readonly string[];
  readonly pauseIntro: (pausedWorker: string) => readonly string[];
}

export interface WorkerGroup {
  readonly workers: readonly DemoWorker[];
  /** An instance on the same store as the workers. */
  readonly observer: Holdfast;
  readonly texts: DisplayTexts;
  /**
   * Whether a worker that will be killed or paused renews its lease. A process stops renewing when
   * it is killed or paused; an embedded worker does not, so it acquires without renewal.
   */
  readonly renews: boolean;
  /** Closes all workers and releases their locks. */
  close(): Promise<void>;
}

/** The part of the demo that workers use. */
export interface WorkerHost {
  report(worker: string, body: ReportBody, at: number): void;
  access(worker: string): Access;
}

export function nameOf(index: number): string {
  return `worker ${index + 1}`;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
