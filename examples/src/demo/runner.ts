/** Runs a scenario: passes the reports of the workers to the display and to the scenario. */
import type { WorkerGroup } from './workers/workers.js';
import type { Kind, ReportBody, Report, ReportOf } from './reports.js';
import type { Access } from './resource.js';
import { Resource } from './resource.js';
import { type Display, verdict } from './display/display.js';
import { line, styled } from './display/line.js';
import { ScenarioState, type ScenarioInfo } from './display/state.js';
import { heading } from './display/frame.js';
import { describe } from './display/text.js';
import { now, sleep } from './time.js';

/** The result of a scenario: its checks and its measurements. */
export interface Finding {
  readonly checks: readonly { readonly ok: boolean; readonly text: string }[];
  readonly measured: string;
}

/** Longest wait for a report that a scenario needs. */
const TIMEOUT_MS = 60_000;

interface Waiting {
  readonly worker: string;
  readonly what: Kind;
  resolve(report: Report): void;
  reject(error: Error): void;
}

export class DemoRunner {
  group!: WorkerGroup;
  display!: Display;
  resource: Resource = new Resource();
  state: ScenarioState | undefined;
  readonly #abort: AbortSignal;
  readonly #readingPause: number;
  #waiting: Waiting[] = [];

  /**
   * @param abort ends the demo early
   * @param readingPause time to read the introduction of a scenario, in ms
   */
  constructor(abort: AbortSignal, readingPause: number) {
    this.#abort = abort;
    this.#readingPause = readingPause;
  }

  /** Runs a scenario; resolves to true if all its checks pass. */
  async runScenario(
    info: ScenarioInfo,
    resource: Resource,
    scenario: () => Promise<Finding>,
  ): Promise<boolean> {
    this.display.print(...heading(info));
    await this.pause(this.#readingPause);
    this.resource = resource;
    this.state = new ScenarioState(info, now());
    this.display.begin(this.state);
    try {
      const { checks, measured } = await scenario();
      this.display.end();
      const results = checks.map(({ ok, text }) => verdict(ok, text));
      this.display.print(...results, line('   ', styled('dim', measured)));
      return checks.every(({ ok }) => ok);
    } finally {
      this.display.end();
      this.#waiting = [];
      // later reports come from workers that are closing; they are ignored
      this.state = undefined;
    }
  }

  /** Records a report, shows it and resolves the calls of `next` that wait for it. */
  report(worker: string, body: ReportBody, at: number = now()): void {
    const { state } = this;
    if (state === undefined) return;
    const report = { ...body, at, worker } as Report;
    state.apply(report);
    const text = describe(report, state);
    if (text !== undefined) {
      // the chart already shows a waiting worker
      if (body.what !== 'waits') state.notes.push(text);
      this.display.note(text);
    }
    this.#notify(report);
  }

  access(worker: string): Access {
    return this.resource.access(worker);
  }

  /** The next report of this kind from this worker. Call it before the report can arrive. */
  next<K extends Kind>({ name }: { name: string }, what: K): Promise<ReportOf<K>> {
    const settled = new AbortController();
    const report = new Promise<Report>((resolve, reject) => {
      this.#waiting.push({ worker: name, what, resolve, reject });
    });
    const timeout = sleep(TIMEOUT_MS, AbortSignal.any([settled.signal, this.#abort])).then(() => {
      throw new Error(`${name} did not report "${what}" within ${TIMEOUT_MS / 1000} s`);
    });
    const first = Promise.race([report, timeout]).finally(() => settled.abort());
    // a scenario that failed elsewhere does not await this promise
    first.catch(() => undefined);
    return first as Promise<ReportOf<K>>;
  }

  async pause(ms: number): Promise<void> {
    await sleep(ms, this.#abort);
  }

  #notify(report: Report): void {
    const failed = report.what === 'failed';
    const matches = (each: Waiting): boolean =>
      failed || (each.worker === report.worker && each.what === report.what);
    const waiting = this.#waiting.filter(matches);
    this.#waiting = this.#waiting.filter((each) => !matches(each));
    for (const each of waiting) {
      if (failed) each.reject(new Error(`${report.worker}: ${report.message}`));
      else each.resolve(report);
    }
  }
}
