/** `holdfast dashboard`: serves a live view of the locks until a signal ends it. */
import { dashboard as view, serve } from 'holdfast-dashboard';
import { STOPPING } from '../child/signals.js';
import { EXIT, Failure } from '../failure.js';
import { Notes } from '../notes.js';
import type { CommonOptions } from '../options.js';
import { openStore } from '../store.js';

export interface DashboardOptions extends CommonOptions {
  readonly port: number;
  readonly write?: boolean;
}

/** Listens on loopback only: for other machines, mount the view in a program with `authorize`. */
export async function dashboard({ port, write, ...options }: DashboardOptions): Promise<number> {
  const store = await openStore(options);
  // a signal before this ends the program as usual
  const stopped = new Promise<void>((resolve) => {
    for (const name of STOPPING) process.on(name, () => resolve());
  });
  try {
    const live = view(store.holdfast, { localWrites: write === true });
    const served = await serve(live, { port }).catch(({ message }: Error) => {
      throw new Failure(EXIT.unavailable, `--port: ${message}`, 'choose another port');
    });
    const url = served.openUrl;
    new Notes(options).warning('serving', `the locks are at ${url}`, { url });
    await stopped;
    await served.close();
    return 0;
  } finally {
    await store.close();
  }
}
