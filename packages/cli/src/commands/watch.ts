/** `holdfast watch`: the locks, again and again. */
import type { Holdfast, LockInfo } from 'holdfast';
import { createLogUpdate } from 'log-update';
import { STOPPING } from '../child/signals.js';
import { failureOf } from '../failure.js';
import { Notes } from '../notes.js';
import type { CommonOptions } from '../options.js';
import { TIMER_MAX } from '../values.js';
import { lockTable } from '../view/locks.js';
import { colors, onTerminal, print } from '../view/output.js';
import { printable, json as toJson } from '../view/words.js';
import { locksOf, withStore } from './look.js';

export interface WatchOptions extends CommonOptions {
  readonly every: number;
  readonly count?: number;
}

/** Lines that are not rows of the table: the title, the heads, the last line and the cursor. */
const OTHER_LINES = 4;

/** Counts for each lock how often its fence has grown between two looks. */
class Grants {
  readonly #seen = new Map<string, { fence: number; grants: number }>();

  update(locks: readonly LockInfo[]): void {
    for (const { fence, key } of locks) {
      const before = this.#seen.get(key);
      const grants = before === undefined ? 0 : before.grants + Number(fence > before.fence);
      this.#seen.set(key, { fence, grants });
    }
  }

  of(key: string): number {
    return this.#seen.get(key)?.grants ?? 0;
  }
}

export async function watch(pattern: string | undefined, options: WatchOptions): Promise<number> {
  // a terminal that does not know its size cannot be redrawn
  const live = onTerminal() && process.stdout.columns > 0 && options.json !== true;
  const screen = live ? createLogUpdate(process.stdout) : undefined;
  try {
    return await withStore(options, async (holdfast) => {
      // a signal before this ends the program as usual
      const stop = new AbortController();
      for (const name of STOPPING) process.on(name, () => stop.abort());
      const grants = new Grants();
      for (let shown = 0; !stop.signal.aborted; ) {
        const text = await look(holdfast, pattern, { grants, live, options });
        if (screen === undefined) print(text);
        else screen(text);
        shown += 1;
        if (shown === options.count) break;
        await pause(options.every, stop.signal);
      }
      return 0;
    });
  } finally {
    screen?.done();
  }
}

interface View {
  readonly grants: Grants;
  readonly live: boolean;
  readonly options: WatchOptions;
}

/** The text of one look. A live view also shows that the server does not answer, and goes on. */
async function look(
  holdfast: Holdfast,
  pattern: string | undefined,
  { grants, live, options }: View,
): Promise<string> {
  const { dim, red } = colors();
  const title = `${new Date().toISOString().slice(11, 19)} UTC  ${printable(pattern ?? '*')}`;
  try {
    const locks = await locksOf(holdfast, pattern, new Notes(options));
    grants.update(locks);
    if (options.json === true) return toJson({ at: Date.now(), locks });
    const most = live ? Math.max(1, process.stdout.rows - OTHER_LINES) : locks.length;
    const more = { head: ['GRANTS'], cells: ({ key }: LockInfo) => [String(grants.of(key))] };
    const rest = locks.length - most;
    const body = locks.length === 0 ? 'no lock is in use' : lockTable(locks.slice(0, most), more);
    return [dim(title), body, ...(rest > 0 ? [dim(`and ${rest} more`)] : [])].join('\n');
  } catch (error) {
    if (!live) throw error;
    return `${dim(title)}\n${red(printable(failureOf(error).message))}`;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(ms, TIMER_MAX));
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  });
}
