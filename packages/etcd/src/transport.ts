/** The parts of `fetch` that this package uses, and one request with it. */
import { EtcdFailure, noAnswer, refusal } from './failures.js';
import { Limit } from './limits.js';

/** A request. */
export interface FetchInit {
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** An answer. */
export interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** `fetch` itself, or a function that calls it with more settings. */
export type FetchFunction = (url: string, init: FetchInit) => Promise<FetchResponse>;

/** One request, and the time that it may take. */
export interface Sending {
  readonly fetch: FetchFunction;
  readonly endpoint: string;
  readonly path: string;
  /** Without one, it is a GET. */
  readonly body?: string | undefined;
  readonly headers?: Record<string, string> | undefined;
  readonly ms: number;
}

/**
 * Sends a request, and resolves to the text of an answer with the status 200.
 * @param dated called with the `Date` of any answer
 * @throws EtcdFailure
 */
export async function send(
  sending: Sending,
  dated: (date: string | null) => void,
): Promise<string> {
  const { endpoint, ms } = sending;
  const limit = new Limit(ms);
  try {
    const response = await start(sending, limit.settings);
    dated(response.headers.get('date'));
    const text = await response.text();
    if (response.status !== 200) throw refusal(endpoint, response.status, text);
    return text;
  } catch (error) {
    throw error instanceof EtcdFailure ? error : noAnswer(endpoint, error);
  } finally {
    limit.end();
  }
}

/** Sends a request whose answer is a stream. Rejects as `fetch` does. */
export function start(sending: Sending, limit: Pick<FetchInit, 'signal'>): Promise<FetchResponse> {
  const { fetch, endpoint, path, body, headers } = sending;
  const init: Omit<FetchInit, 'signal'> =
    body === undefined
      ? { method: 'GET', headers: { ...headers } }
      : { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
  // its signal is made when it is read
  return fetch(`${endpoint}${path}`, Object.assign(limit, init));
}
