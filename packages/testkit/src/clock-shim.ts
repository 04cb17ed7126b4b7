/**
 * A wall clock that can be stepped, for programs that preload a small library. Needs a C compiler;
 * without one, the clock is not available.
 */
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { guardFolder } from './guardian.js';

const run = promisify(execFile);

const SOURCE = fileURLToPath(new URL('../native/clock-shim.c', import.meta.url));
const NANOSECONDS = 1_000_000n;

/** A separate wall clock for all programs that get `env`. */
export interface ClockShim {
  /** The environment variables of a program. */
  readonly env: Readonly<Record<string, string>>;
  /** How many ms it is ahead of the machine's clock. */
  readonly offset: number;
  /** Sets `offset`; the programs see it when they next read the clock. */
  step(offset: number): void;
}

/** Undefined if the library cannot be compiled, or if programs do not load it. */
export async function makeClockShim(): Promise<ClockShim | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-clock-'));
  guardFolder(folder);
  // a server may run as another user
  chmodSync(folder, 0o755);
  const library = join(folder, 'clock-shim.so');
  const file = join(folder, 'offset');
  const env = { LD_PRELOAD: library, CLOCK_SHIM: file };
  let offset = 0;
  const step = (ms: number): void => {
    offset = ms;
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(Math.round(ms)) * NANOSECONDS);
    // in place, because the programs have mapped this file; eight bytes are written at once
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
