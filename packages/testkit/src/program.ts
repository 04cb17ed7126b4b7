/**
 * A server program of a test, in a folder of its own, with its output in a log there. It ends with
 * the test's process.
 */
import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guard, guardFolder, removeFolder } from './guardian.js';
import { until } from './wait.js';

const START_MS = 60_000;

export interface ProgramSettings<T> {
  readonly name: string;
  readonly folder: string;
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** What ends it at once, and with it the processes that it has started. Default SIGKILL. */
  readonly signal?: NodeJS.Signals;
  /** The user that it runs as; by default that of this process. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** In addition to this process's own environment. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Reads from its log, or asks it, whether it is ready; `undefined`: not yet. */
  readonly ready: (log: string) => Promise<T | undefined> | T | undefined;
}

/** A program that is ready. */
export interface Program<T> {
  /** What `ready` returned. */
  readonly found: T;
  readonly pid: number;
  readonly send: (signal: NodeJS.Signals) => void;
  /** Ends it at once, and keeps its folder. */
  readonly end: () => Promise<void>;
  /** Ends it at once, and removes its folder: its data is not needed again. */
  readonly stop: () => Promise<void>;
}

/** A new folder for a program. */
export function programFolder(name: string): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), `holdfast-${name}-`)));
  guardFolder(folder);
  return folder;
}

/** Starts a program, and resolves when it is ready. If it ends before, the folder is removed. */
export async function startProgram<T>(settings: ProgramSettings<T>): Promise<Program<T>> {
  const { name, folder, command, user, env, ready, signal = 'SIGKILL' } = settings;
  const [file = '', ...args] = command;
  const path = join(folder, 'program.log');
  const log = openSync(path, 'w');
  const child = spawn(file, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', log, log],
    ...user,
  });
  closeSync(log);
  guard(child);
  let gone = false;
  const exit = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  }).then(() => void (gone = true));
  const end = async (): Promise<void> => {
    child.kill(signal);
    await exit;
  };
  const send = (one: NodeJS.Signals): void => void child.kill(one);
  const stop = async (): Promise<void> => {
    await end();
    removeFolder(folder);
  };
  const read = (): string => readFileSync(path, 'utf8');
  const look = async (): Promise<{ found: T } | 'gone' | undefined> => {
    if (gone) return 'gone';
    const found = await ready(read());
    return found === undefined ? undefined : { found };
  };
  try {
    const seen = await until(look, { within: START_MS, every: 20, what: `${name} is ready` });
    if (seen === 'gone') throw new Error(`${name} has ended:\n${read()}`);
    return { found: seen.found, pid: child.pid ?? -1, send, end, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
