/** Runs programs of Node. */
import { spawn } from 'node:child_process';

export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** Resolves to the exit code and the output of a program, when it has ended. */
export function outputOf(
  words: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Ended> {
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  return new Promise((resolve, reject) => {
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    }
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}
