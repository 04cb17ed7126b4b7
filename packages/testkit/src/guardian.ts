/**
 * Removes everything that a test started when the test's process ends. A small shell reads from a
 * pipe the processes, folders and namespaces to remove. When this process ends, even by SIGKILL,
 * the pipe closes and the shell removes them. An exit handler is not enough: it does not run on a
 * signal, and test runners end their workers by signal.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import type { Writable } from 'node:stream';

const SCRIPT = `
pids=' '
namespaces=''
while IFS= read -r line; do
  value=\${line#??}
  case $line in
    '+ '*) pids="$pids$value " ;;
    '- '*) pids="\${pids%% $value *} \${pids#* $value }" ;;
    'd '*) set -- "$@" "$value" ;;
    'n '*) namespaces="$namespaces $value" ;;
  esac
done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
for name in $namespaces; do ip netns del "$name" 2>/dev/null; done
for folder in "$@"; do rm -rf -- "$folder"; done
`;

let pipe: Writable | undefined;

function tell(line: string): void {
  pipe ??= start();
  pipe.write(`${line}\n`);
}

function start(): Writable {
  // detached: Ctrl-C in a terminal reaches the whole process group, and this shell must survive it
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'guardian'], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  shell.on('error', () => undefined);
  shell.stdin.on('error', () => undefined);
  shell.unref();
  (shell.stdin as unknown as { unref(): void }).unref();
  return shell.stdin;
}

/** Kills `child` when this process ends. */
export function guard(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined) return;
  tell(`+ ${pid}`);
  child.once('exit', () => tell(`- ${pid}`));
}

/** Deletes `folder` when this process ends, at the latest. */
export function guardFolder(folder: string): void {
  tell(`d ${folder}`);
}

/** Deletes the network namespace `name` when this process ends, at the latest. */
export function guardNamespace(name: string): void {
  tell(`n ${name}`);
}

/** Deletes `folder` now. */
export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
