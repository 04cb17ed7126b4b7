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
