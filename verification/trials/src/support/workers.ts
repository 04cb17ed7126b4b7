/** The worker processes of trials. They always run compiled code. */
import { paced, spawnWorker, type Worker } from 'holdfast-testkit';

/**
 * Starts a process of `workers/` with a JSON argument, and waits for its message `ready`.
 */
export async function startWorker(name: string, given: object): Promise<Worker> {
  const file = new URL(`../../dist/workers/${name}.js`, import.meta.url);
  const worker = spawnWorker(file, { args: [JSON.stringify(given)] });
  await worker.next('ready', { within: paced(30_000) });
  return worker;
}

/** In a worker: the argument of `startWorker`. */
export function given<T>(): T {
  return JSON.parse(process.argv[2] as string) as T;
}

/** In a worker: sends a message to the parent, and waits until it is sent. */
export function send(type: string, content: object = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.({ type, ...content }, (error: Error | null) =>
      error === null ? resolve() : reject(error),
    );
  });
}

/** In a worker: resolves when the parent sends a message of this type. */
export function received(type: string): Promise<void> {
  return new Promise((resolve) => {
    const listen = (message: { type: string }): void => {
      if (message.type !== type) return;
      process.off('message', listen);
      resolve();
    };
    process.on('message', listen);
  });
}
