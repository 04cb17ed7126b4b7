/** A `fetch` that a test makes fail. */
import type { FetchFunction, FetchResponse } from '../src/index.js';

type Url = (url: string) => string;

export class FaultyFetch {
  /** Where a request goes. */
  to: Url = (url) => url;
  /** By how much the clock of a server is ahead, in ms, by the beginning of its URL. */
  readonly ahead = new Map<string, number>();
  /** Awaited before each watch. */
  beforeWatch: Promise<void> = Promise.resolve();
  /** True: the streams stay open, and nothing arrives on them. */
  silent = false;
  /** The paths of all requests. */
  readonly paths: string[] = [];
  #cut: (() => void)[] = [];

  readonly fetch: FetchFunction = async (url, init) => {
    const { pathname } = new URL(url);
    this.paths.push(pathname);
    if (pathname === '/v3/watch') await this.beforeWatch;
    const response = await fetch(this.to(url), init);
    return pathname === '/v3/watch' ? this.#stream(response) : this.#shifted(url, response);
  };

  /** Ends all streams. */
  cut(): void {
    for (const one of this.#cut.splice(0)) one();
  }

  #shifted(url: string, response: Response): FetchResponse {
    const [, ahead = 0] = [...this.ahead].find(([start]) => url.startsWith(start)) ?? [];
    const date = new Date(Date.parse(response.headers.get('date') ?? '') + ahead).toUTCString();
    const headers = { get: (name: string) => (name === 'date' ? date : null) };
    return { status: response.status, headers, text: () => response.text(), body: null };
  }

  #stream(response: Response): FetchResponse {
    const ended = new Promise<never>((_, reject) => {
      this.#cut.push(() => reject(new Error('cut')));
    });
    ended.catch(() => undefined);
    const { body } = response;
    const isSilent = (): boolean => this.silent;
    async function* bytes(): AsyncGenerator<Uint8Array> {
      const reader = body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
      for (;;) {
        const { value } = await Promise.race([reader.read(), ended]);
        if (value === undefined) return;
        if (!isSilent()) yield value;
      }
    }
    const { status, headers } = response;
    return { status, headers, text: () => response.text(), body: bytes() };
  }
}
