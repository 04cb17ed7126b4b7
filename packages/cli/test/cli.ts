/** Starts the built program as users do: a process of its own, with pipes or a terminal. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { until } from 'holdfast-testkit';

export const MAIN: string = fileURLToPath(new URL('../dist/main.js', import.meta.url));

export interface CliOptions {
  /** In addition to the environment of the test. */
  readonly env?: Readonly<Record<string, string>>;
  /** Words before the program. */
  readonly prefix?: readonly string[];
  /** On a pseudo-terminal, whose keyboard and screen are the pipes. */
  readonly terminal?: boolean;
}

export interface Exited {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A started program. `await using` kills it. */
export class Cli implements AsyncDisposable {
  stdout = '';
  stderr = '';
  readonly exited: Promise<Exited>;
  readonly #child: ChildProcess;

  constructor(args: readonly string[], { env = {}, prefix = [], terminal }: CliOptions = {}) {
    const words = [...prefix, process.execPath, MAIN, ...args];
    const line = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    // a shell that stays between them would turn Ctrl-C into exit code 130
    const command = terminal === true ? ['script', '-qec', `exec ${line}`, '/dev/null'] : words;
    const [file, ...rest] = command as [string, ...string[]];
    const { NO_COLOR: _, FORCE_COLOR: __, ...own } = process.env;
    this.#child = spawn(file, rest, { env: { ...own, ...env }, stdio: 'pipe' });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    // a program that has ended does not read its input
    this.#child.stdin?.on('error', () => undefined);
    this.exited = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => resolve({ code, signal }));
    });
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  type(text: string): void {
    this.#child.stdin?.write(text);
  }

  endInput(): void {
    this.#child.stdin?.end();
  }

  /** Waits until the standard output matches, and returns the match. */
  async shows(pattern: RegExp, within = 20_000): Promise<RegExpExecArray> {
    const what = `${pattern} on standard output`;
    const found = (): RegExpExecArray | null => {
      const match = pattern.exec(this.stdout);
      if (match === null) throw new Error(`it is ${this.stdout}\nerrors: ${this.stderr}`);
      return match;
    };
    return until(found, { within, what });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill('SIGKILL');
    await this.exited;
  }
}

/** Runs the program to its end. */
export async function cli(
  args: readonly string[],
  options?: CliOptions,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  await using program = new Cli(args, options);
  program.endInput();
  const { code } = await program.exited;
  return { code, stdout: program.stdout, stderr: program.stderr };
}

/** The store has not answered in time, as on a machine with too much work. */
export const isUnanswered = (stderr: string): boolean =>
  /no reply from the store|cannot be used: no answer within/.test(stderr);

/** As `cli`; again while the store does not answer in time. */
export function answered(...call: Parameters<typeof cli>): ReturnType<typeof cli> {
  const look = async (): Promise<Awaited<ReturnType<typeof cli>> | false> => {
    const seen = await cli(...call);
    return !isUnanswered(seen.stderr) && seen;
  };
  return until(look, { within: 60_000, what: 'the store answers' });
}

/** True while a process exists and is not a zombie. */
export function alive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/\) [ZX] /.test(stat);
  } catch {
    return false;
  }
}

/** The processes whose parent is the given one. */
export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}
