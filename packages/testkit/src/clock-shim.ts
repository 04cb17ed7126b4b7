/**
 * A wall clock that can be stepped, for programs that are started with it: a small library that
 * they load first. Needs a C compiler; where there is none, there is no such clock.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { guardFolder } from './guardian.js';

const run = promisify(execFile);

const SOURCE = fileURLToPath(new URL('../native/clock-shim.c', import.meta.url));
const NANOSECONDS = 1_000_000n;

/** A wall clock of its own for as many programs as are given `env`. */
export interface ClockShim {
  /** What a program's environment needs. */
  readonly env: Readonly<Record<string, string>>;
  /** By how many ms it is ahead of the machine's. */
  readonly offset: number;
  /** Sets that; the programs see it with their next look. */
  step(offset: number): void;
}

/** Undefined where no compiler makes the library, or where programs do not load it. */
export async function makeClockShim(): Promise<ClockShim | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-clock-'));
  guardFolder(folder);
  const library = join(folder, 'clock-shim.so');
  const file = join(folder, 'offset');
  const env = { LD_PRELOAD: library, CLOCK_SHIM: file };
  let offset = 0;
  const step = (ms: number): void => {
    offset = ms;
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(Math.round(ms)) * NANOSECONDS);
    // in place: the programs have mapped this very file. Eight bytes are written at once.
    writeFileSync(file, bytes, { flag: 'r+' });
  };
  writeFileSync(file, Buffer.alloc(8));
  try {
    await run('cc', ['-shared', '-fPIC', '-O2', '-o', library, SOURCE]);
    step(86_400_000);
    const { stdout } = await run('date', ['+%s'], { env: { ...process.env, ...env } });
    if (Number(stdout) * 1000 - Date.now() < 80_000_000) return undefined;
  } catch {
    return undefined;
  }
  step(0);
  return {
    env,
    get offset() {
      return offset;
    },
    step,
  };
}
