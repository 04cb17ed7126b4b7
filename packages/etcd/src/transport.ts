/** The parts of `fetch` that this package uses, and one request with it. */
import { EtcdFailure, noAnswer, refusal } from './failures.js';

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
  readonly body?: string;
  readonly headers?: Record<string, string>;
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
  const control = new AbortController();
  const timer = setTimeout(() => control.abort(), ms);
  try {
    const response = await start(sending, control.signal);
    dated(response.headers.get('date'));
    const text = await response.text();
    if (response.status !== 200) throw refusal(endpoint, response.status, text);
    return text;
  } catch (error) {
    throw error instanceof EtcdFailure ? error : noAnswer(endpoint, error);
  } finally {
    clearTimeout(timer);
  }
}

/** Sends a request whose answer is a stream. Rejects as `fetch` does. */
export function start(sending: Sending, signal: AbortSignal): Promise<FetchResponse> {
  const { fetch, endpoint, path, body, headers = {} } = sending;
  const type = { 'content-type': 'application/json', ...headers };
  return fetch(
    `${endpoint}${path}`,
    body === undefined
      ? { method: 'GET', headers, signal }
      : { method: 'POST', headers: type, body, signal },
  );
}
