/**
 * Every order in which tasks can do their calls of the file system. A call of a task waits until it
 * is chosen, so a task may pause between two calls for any time, and may never go on.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';

const NAMES = [
  ...(['mkdir', 'readdir', 'readFile', 'rename', 'rm', 'rmdir', 'writeFile'] as const),
];

/** One task in one order. */
class Actor {
  /** Does the call that the task waits for. */
  next: (() => Promise<void>) | undefined;
  /** Called before its next call. */
  begins: (() => void) | undefined;
  /** The calls that were done. */
  steps = 0;
  isOver = false;
}

/** What a run did. */
export interface Run {
  /** The time: the number of calls of all tasks. */
  now(): number;
  /** Calls `begun` just before the next call of the task; outside of tasks, at once. */
  begins(begun: () => void): void;
  /** Starts a task. It must do one call at a time. */
  start(task: () => Promise<unknown>): void;
}

/** Starts tasks on new data. Returns what is checked when all have ended. */
export type Scene = (run: Run) => Promise<() => Promise<void>>;

const current = new AsyncLocalStorage<Actor>();

/** Returns the number of orders. Before them, the first task is killed after each of its calls. */
export async function inEveryOrder(scene: Scene): Promise<number> {
  const restore = intercept();
  try {
    for (let killedAfter = 0; (await once(scene, [], killedAfter)) === 'killed'; ) killedAfter += 1;
    let count = 0;
    for (let path: Choice[] | undefined = []; path !== undefined; path = following(path)) {
      await once(scene, path);
      count += 1;
    }
    return count;
  } finally {
    restore();
  }
}

/** Of those who could go on, which one did. */
interface Choice {
  readonly of: number;
  chosen: number;
}

function following(path: Choice[]): Choice[] | undefined {
  for (let last = path.pop(); last !== undefined; last = path.pop()) {
    if (last.chosen + 1 < last.of) return [...path, { ...last, chosen: last.chosen + 1 }];
  }
  return undefined;
}

async function once(
  scene: Scene,
  path: Choice[],
  killedAfter = Infinity,
): Promise<'killed' | 'over'> {
  const actors: Actor[] = [];
  const ends: Promise<unknown>[] = [];
  let time = 0;
  const check = await scene({
    now: () => time,
    begins: (begun) => {
      const actor = current.getStore();
      if (actor !== undefined) {
        actor.begins = begun;
        return;
      }
      begun();
      time += 1;
    },
    start: (task) => {
      const actor = new Actor();
      actors.push(actor);
      const end = current.run(actor, task).finally(() => (actor.isOver = true));
      end.catch(() => undefined);
      ends.push(end);
    },
  });
  for (let at = 0; ; at++) {
    await settled();
    const ready = actors.filter(
      (actor, index) => actor.next !== undefined && (index > 0 || actor.steps < killedAfter),
    );
    if (ready.length === 0) break;
    const choice = (path[at] ??= { of: ready.length, chosen: 0 });
    const actor = ready[choice.chosen] as Actor;
    const { next, begins } = actor;
    [actor.next, actor.begins] = [undefined, undefined];
    begins?.();
    actor.steps += 1;
    time += 1;
    await next?.();
  }
  const isKilled = actors[0]?.isOver === false;
  await Promise.all(isKilled ? ends.slice(1) : ends);
  await check();
  return isKilled ? 'killed' : 'over';
}

/** All that follows from the last call has been done: it takes microtasks only. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

type Call = (...args: unknown[]) => Promise<unknown>;

function intercept(): () => void {
  const functions = fs as unknown as Record<string, Call>;
  const before = NAMES.map((name) => [name, functions[name] as Call] as const);
  for (const [name, function_] of before) {
    // to wait for the disk takes long, and changes no order
    const original: Call = (...args) => function_(...args.map(withoutFlush));
    functions[name] = async (...args) => {
      const actor = current.getStore();
      if (actor === undefined) return original(...args);
      // the files go before their folders
      if (isRecursive(name, args)) await step(actor, () => removeFiles(args[0] as string));
      return step(actor, () => original(...args));
    };
  }
  syncBuiltinESMExports();
  return () => {
    for (const [name, original] of before) functions[name] = original;
    syncBuiltinESMExports();
  };
}

/** The calls inside of `call` are one step. */
function step(actor: Actor, call: () => Promise<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    actor.next = async () => {
      await current.exit(call).then(resolve, reject);
    };
  });
}

function isRecursive(name: string, [, options]: unknown[]): boolean {
  return name === 'rm' && (options as { recursive?: boolean } | undefined)?.recursive === true;
}

async function removeFiles(path: string): Promise<void> {
  const found = await fs.readdir(path, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = found.filter((entry) => entry.isFile());
  await Promise.all(files.map((file) => fs.rm(join(file.parentPath, file.name), { force: true })));
}

function withoutFlush(argument: unknown): unknown {
  const isOptions = typeof argument === 'object' && argument !== null && 'flush' in argument;
  return isOptions ? { ...argument, flush: false } : argument;
}
