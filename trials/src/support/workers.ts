/** The processes of trials. Node runs what was compiled, also when the trial itself was not. */
import { spawnWorker, type Worker } from 'holdfast-testkit';

/**
 * Starts a process of `workers/`. What it is given is JSON, and it says `ready` when it is.
 */
export async function startWorker(name: string, given: object): Promise<Worker> {
  const file = new URL(`../../dist/workers/${name}.js`, import.meta.url);
  const worker = spawnWorker(file, { args: [JSON.stringify(given)] });
  await worker.next('ready', { within: 30_000 });
  return worker;
}

/** In a worker: what `startWorker` gave it. */
export function given<T>(): T {
  return JSON.parse(process.argv[2] as string) as T;
}

/** In a worker: says something to the parent, and waits until it is on its way. */
export function say(type: string, content: object = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.({ type, ...content }, (error: Error | null) =>
      error === null ? resolve() : reject(error),
    );
  });
}

/** In a worker: resolves when the parent says this. */
export function told(type: string): Promise<void> {
  return new Promise((resolve) => {
    const listen = (message: { type: string }): void => {
      if (message.type !== type) return;
      process.off('message', listen);
      resolve();
    };
    process.on('message', listen);
  });
}
