/** A Holdfast in memory, and views of it that listen. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Holdfast, memory } from 'holdfast';
import {
  type Dashboard,
  dashboard,
  type DashboardOptions,
  serve,
  type Served,
} from '../src/index.js';

/** On a busy machine the tests that use servers come first. */
export const PATIENT = { timeout: 30_000, interval: 50 };
/** The peer of a request of this machine. */
export const LOCAL = { address: '127.0.0.1' };
/** A URL of this machine. */
export const PAGE = 'http://localhost/';

export class Views {
  readonly holdfast: Holdfast = new Holdfast(memory(), { label: 'billing' });
  /** Called at the end. */
  readonly stops: (() => unknown)[] = [];
  #token: string | undefined;

  static async create(): Promise<Views> {
    const views = new Views();
    await views.holdfast.warmUp();
    return views;
  }

  view(options: DashboardOptions = {}): Dashboard {
    const view = dashboard(this.holdfast, options);
    this.#token = view.localToken;
    return view;
  }

  /** The headers of local access to the last view. */
  get headers(): Record<string, string> {
    return this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
  }

  /** Asks the last view, with its token. */
  fetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const own = Object.fromEntries(new Headers(init.headers));
    return fetch(url, { ...init, headers: { ...this.headers, ...own } });
  }

  async start(options: DashboardOptions = {}): Promise<Served> {
    const served = await serve(this.view({ every: 10, ...options }));
    this.stops.push(() => served.close());
    return served;
  }

  async listen(listener: RequestListener): Promise<string> {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.stops.push(
      () => server.close(),
      () => server.closeAllConnections(),
    );
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const stop of this.stops) await stop();
    await this.holdfast.close({ grace: 0 });
  }
}

/** The token in a page; empty in a page that may only read. */
export function tokenIn(page: string): string {
  return /holdfast-csrf['"] content=['"]([^'"]*)/u.exec(page)?.[1] ?? '';
}
