import { type ClientState, notReady } from './state.js';

export function ioredisState(client: object, address: unknown): ClientState | undefined {
  const { status } = client as { status?: string };
  if (status === undefined || status === 'ready') return undefined;
  // also after a `retryStrategy` that gave up, or a failed search for the master
  const closed = status === 'end';
  const state = closed
    ? 'closed: quit() or disconnect() was called, or it stopped reconnecting'
    : `in state "${status}"`;
  return { closed, text: notReady(client, state, address) };
}

/**
 * The number of the connection, which is known before it is open: what is sent meanwhile waits for
 * it. A client that connects with its first command has none yet. The stream, if a version of the
 * client does not count.
 */
export function connectionOf(client: object): unknown {
  const { connectionEpoch: count, status, stream } = client as Counting;
  if (typeof count !== 'number') return stream;
  return status === 'wait' ? count + 1 : count;
}

interface Counting {
  readonly connectionEpoch?: unknown;
  readonly status?: unknown;
  readonly stream?: unknown;
}
