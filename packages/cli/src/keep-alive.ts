/**
 * Connects a client again that has ended. A client of ioredis ends for good if the news of a
 * fail-over comes from Sentinel while it connects; commands such as `lead` and `watch` go on.
 */

/** The part of a client that is used. */
export interface Ends {
  on(event: 'end', listener: () => void): unknown;
  off(event: 'end', listener: () => void): unknown;
  connect(): Promise<unknown>;
}

const PAUSE_MS = 200;

/** Returns a function that lets the client end. */
export function keepAlive(client: Ends): () => void {
  let timer: NodeJS.Timeout | undefined;
  const connect = (): void => {
    // a failure is followed by the event, or the client tries again by itself
    timer = setTimeout(() => void client.connect().catch(() => undefined), PAUSE_MS);
  };
  client.on('end', connect);
  return () => {
    clearTimeout(timer);
    client.off('end', connect);
  };
}
