/** The stage: an act is played on it, and told to the audience. */
import type { Crew } from './crew/crew.js';
import type { Kind, News, Report, ReportOf } from './reports.js';
import type { Access } from './resource.js';
import { Resource } from './resource.js';
import { type Display, verdict } from './show/display.js';
import { line, styled } from './show/line.js';
import { Scene, type Setting } from './show/scene.js';
import { heading } from './show/view.js';
import { describe } from './show/words.js';
import { now, sleep } from './time.js';

/** What an act has to prove, and what it measured. */
export interface Finding {
  readonly checks: readonly { readonly ok: boolean; readonly text: string }[];
  readonly measured: string;
}

/** Longest wait for something that must happen in an act. */
const PATIENCE_MS = 20_000;

interface Waiting {
  readonly worker: string;
  readonly what: Kind;
  resolve(report: Report): void;
  reject(error: Error): void;
}

export class Stage {
  crew!: Crew;
  display!: Display;
  resource: Resource = new Resource();
  scene: Scene | undefined;
  readonly #abort: AbortSignal;
  readonly #breath: number;
  #waiting: Waiting[] = [];

  /**
   * @param abort ends the demo early
   * @param breath time to read what an act is about, in ms
   */
  constructor(abort: AbortSignal, breath: number) {
    this.#abort = abort;
    this.#breath = breath;
  }

  /** Plays an act; resolves to whether all that it had to prove is true. */
  async play(setting: Setting, resource: Resource, act: () => Promise<Finding>): Promise<boolean> {
    this.display.print(...heading(setting));
    await this.pause(this.#breath);
    this.resource = resource;
    this.scene = new Scene(setting, now());
    this.display.begin(this.scene);
    try {
      const { checks, measured } = await act();
      this.display.end();
      const results = checks.map(({ ok, text }) => verdict(ok, text));
      this.display.print(...results, line('   ', styled('dim', measured)));
      return checks.every(({ ok }) => ok);
    } finally {
      this.display.end();
      this.#waiting = [];
      // what happens now is the end of the players, not of the play
      this.scene = undefined;
    }
  }

  /** Something happened. */
  tell(worker: string, news: News, at: number = now()): void {
    const { scene } = this;
    if (scene === undefined) return;
    const report = { ...news, at, worker } as Report;
    scene.apply(report);
    const text = describe(report, scene);
    if (text !== undefined) {
      // the chart shows it
      if (news.what !== 'waits') scene.notes.push(text);
      this.display.note(text);
    }
    this.#notify(report);
  }

  access(worker: string): Access {
    return this.resource.access(worker);
  }

  /** The next report of this kind from this worker: ask for it before it can come. */
  next<K extends Kind>({ name }: { name: string }, what: K): Promise<ReportOf<K>> {
    const given = new AbortController();
    const report = new Promise<Report>((resolve, reject) => {
      this.#waiting.push({ worker: name, what, resolve, reject });
    });
    const late = sleep(PATIENCE_MS, AbortSignal.any([given.signal, this.#abort])).then(() => {
      throw new Error(`${name} should have got further by now`);
    });
    const first = Promise.race([report, late]).finally(() => given.abort());
    // an act that failed elsewhere does not come to ask for it any more
    first.catch(() => undefined);
    return first as Promise<ReportOf<K>>;
  }

  async pause(ms: number): Promise<void> {
    await sleep(ms, this.#abort);
  }

  #notify(report: Report): void {
    const failed = report.what === 'failed';
    const concerned = (each: Waiting): boolean =>
      failed || (each.worker === report.worker && each.what === report.what);
    const waiting = this.#waiting.filter(concerned);
    this.#waiting = this.#waiting.filter((each) => !concerned(each));
    for (const each of waiting) {
      if (failed) each.reject(new Error(`${report.worker}: ${report.message}`));
      else each.resolve(report);
    }
  }
}
