/** The handler: a web-standard `Request` in, a `Response` out. */
import { badOption, flagOption, knownOptions, wholeOption } from 'holdfast/register';
import {
  type Access,
  type Authorize,
  createToken,
  isCrossSite,
  isLink,
  isSame,
  LocalAccess,
  type Peer,
  tokenIn,
} from './access.js';
import { ASSETS, page } from './assets.js';
import { EventStream } from './events.js';
import { again, headers, html, json, redirect, text } from './responses.js';
import type { Watched } from './rows.js';
import { Watch } from './watch.js';

/** What the view may be told. */
export interface DashboardOptions {
  /**
   * Decides what a request may do: `read`, `write` or `false`; any other result is a refusal.
   * Without this option, only requests of this machine with the `localToken` of the view are
   * answered, and they may only read.
   */
  readonly authorize?: Authorize | undefined;
  /** Without `authorize`: whether requests of this machine may write. Default `false`. */
  readonly localWrites?: boolean | undefined;
  /** The path under which the view is mounted, if the mount does not remove it. Default: none. */
  readonly basePath?: string | undefined;
  /** The shortest time between two lists of all locks, in ms. Default 1,000. */
  readonly every?: number | undefined;
  /**
   * How many pages may be open at a time, 1 or more. A page more is answered with the status 503,
   * and asks again. Default 50.
   */
  readonly maxPages?: number | undefined;
}

/** The view. */
export interface Dashboard {
  /** True if it decides by `authorize`, so that it may be reached from other machines. */
  readonly guarded: boolean;
  /**
   * Without `authorize`: the secret that a request must know, as `?token=` in the URL of the page,
   * which exchanges it for a cookie, or as the header `Authorization: Bearer`. It is made with the
   * view. With `authorize` it is `undefined`.
   */
  readonly localToken: string | undefined;
  /** Answers a request. Without `authorize`, it needs the peer of the socket. */
  fetch(request: Request, peer?: Peer): Promise<Response>;
  /** Ends the streams of events. */
  close(): void;
}

const BODY_MAX = 4096;
const REASON_MAX = 200;
/** How long a forced release waits for the word of the holder. */
const CONFIRM_MS = 2000;
const NOT_LOCAL =
  'This view answers only requests of its own machine that have its token: open the address that ' +
  'was printed at its start. For other machines it needs the option "authorize".\n';
/** Between two warnings. */
const WARNING_MS = 60_000;
const NOT_AUTHORIZED = 'The option "authorize" of this view has refused the request.\n';

const OPTIONS: ReadonlySet<string> = new Set<keyof DashboardOptions>([
  ...(['authorize', 'localWrites', 'basePath', 'every', 'maxPages'] as const),
]);

/** @throws HOLDFAST_BAD_OPTION if an argument is not valid */
export function dashboard(holdfast: Watched, options: DashboardOptions = {}): Dashboard {
  if (typeof holdfast?.forceRelease !== 'function') {
    throw badOption('holdfast', 'an instance of Holdfast', holdfast);
  }
  knownOptions('options', options, OPTIONS);
  const { authorize, every = 0, basePath = '' } = options;
  if (authorize !== undefined && typeof authorize !== 'function') {
    throw badOption('authorize', 'a function', authorize);
  }
  flagOption('localWrites', options.localWrites, false);
  if (typeof basePath !== 'string' || !/^(\/|$)/u.test(basePath)) {
    throw badOption('basePath', 'a path that begins with "/"', basePath);
  }
  const maxPages = wholeOption('maxPages', options.maxPages, 50, 1, Number.MAX_SAFE_INTEGER);
  if (!Number.isFinite(every) || every < 0) {
    throw badOption('every', 'a number of milliseconds, 0 or more', every);
  }
  const view = new View(holdfast, options, maxPages);
  return {
    guarded: authorize !== undefined,
    localToken: authorize === undefined ? view.local.token : undefined,
    fetch: (request, peer) => view.fetch(request, peer),
    close: () => view.close(),
  };
}

class View {
  readonly local: LocalAccess;
  readonly #holdfast: Watched;
  readonly #authorize: Authorize | undefined;
  readonly #base: string;
  /** The token that forced releases need. */
  readonly #csrf = createToken();
  readonly #watch: Watch;
  readonly #maxPages: number;
  readonly #pages = new Set<EventStream>();
  #warnedAt = Number.NEGATIVE_INFINITY;

  constructor(holdfast: Watched, options: DashboardOptions, maxPages: number) {
    const { authorize, localWrites = false, basePath = '', every = 1000 } = options;
    this.local = new LocalAccess(localWrites ? 'write' : 'read');
    this.#holdfast = holdfast;
    this.#authorize = authorize;
    this.#base = basePath.replace(/\/+$/u, '');
    this.#watch = new Watch(holdfast, every);
    this.#maxPages = maxPages;
  }

  async fetch(request: Request, peer: Peer | undefined): Promise<Response> {
    const url = new URL(request.url);
    const { pathname, search } = url;
    const base = this.#base;
    if (pathname !== base && !pathname.startsWith(`${base}/`)) return text(404, 'No such page.\n');
    try {
      const isLocal = this.#authorize === undefined;
      const may = isLocal ? this.local.of(request, peer) : await this.#may(request);
      if (may !== 'read' && may !== 'write') return text(403, isLocal ? NOT_LOCAL : NOT_AUTHORIZED);
      const path = pathname.slice(base.length);
      const isForeign = isCrossSite(request);
      if (isForeign && !(isLink(request) && (path === '' || path === '/')))
        return text(403, 'A page of another site asked for this.\n');
      if (pathname === base) return redirect(308, `${base}/${search}`);
      if (isLocal && path === '/' && tokenIn(url) !== undefined) {
        const cookie = { 'set-cookie': this.local.cookie(url) };
        return isForeign ? again('./', cookie) : redirect(303, './', cookie);
      }
      return await this.#answer(request, path, may);
    } catch (error) {
      const isBad = (error as { code?: unknown } | null)?.code === 'HOLDFAST_BAD_OPTION';
      const message = error instanceof Error ? error.message : String(error);
      return text(isBad ? 400 : 503, `${message}\n`);
    }
  }

  /** The client that is refused does not see the error: it may contain secrets. */
  async #may(request: Request): Promise<unknown> {
    try {
      return await this.#authorize?.(request);
    } catch (error) {
      this.#warnOf(error);
      return false;
    }
  }

  /** For the operator. Any client may cause it, so it is told once a minute. */
  #warnOf(error: unknown): void {
    const now = performance.now();
    if (now - this.#warnedAt < WARNING_MS) return;
    this.#warnedAt = now;
    const reason = error instanceof Error ? error.message : String(error);
    const text = `holdfast-dashboard: the option "authorize" failed, so it refused: ${reason}`;
    process.emitWarning(text, { code: 'HOLDFAST_AUTHORIZE' });
  }

  close(): void {
    for (const stream of [...this.#pages]) stream.end();
  }

  async #answer(request: Request, path: string, may: Access): Promise<Response> {
    if (path === '/api/release') return this.#release(request, may);
    if (request.method !== 'GET' && request.method !== 'HEAD') return text(405, 'Only GET.\n');
    if (path === '/') return html(page(may === 'write' ? this.#csrf : ''));
    const asset = ASSETS.get(path);
    if (asset !== undefined) return new Response(asset.body, { headers: headers(asset.type) });
    if (path === '/api/lock') return this.#lock(new URL(request.url).searchParams.get('key') ?? '');
    if (path !== '/api/events') return text(404, 'No such page.\n');
    return request.method === 'GET' ? this.#events() : text(405, 'Only GET.\n');
  }

  async #lock(key: string): Promise<Response> {
    if (key === '') return text(400, 'The key is missing.\n');
    return json(200, await this.#holdfast.inspect(key));
  }

  #events(): Response {
    const most = this.#maxPages;
    if (this.#pages.size >= most) return text(503, `${most} pages are open already.\n`);
    const stream = new EventStream(this.#watch, () => this.#pages.delete(stream));
    this.#pages.add(stream);
    return new Response(stream.body, {
      headers: { ...headers('text/event-stream'), 'x-accel-buffering': 'no' },
    });
  }

  async #release(request: Request, may: Access): Promise<Response> {
    if (request.method !== 'POST') return text(405, 'Only POST.\n');
    if (may !== 'write') return text(403, 'You may only read.\n');
    const given = request.headers.get('x-holdfast-csrf') ?? '';
    if (!isSame(given, this.#csrf))
      return text(403, 'The token is missing or wrong: load the page anew.\n');
    const asked = (await bodyOf(request)) as { key?: unknown; id?: unknown; reason?: unknown };
    const { key, id, reason } = asked ?? {};
    if (typeof key !== 'string' || key === '' || typeof id !== 'string' || id === '') {
      return text(400, '"key" and "id" must be texts.\n');
    }
    if (typeof reason !== 'string' || reason.trim() === '' || reason.length > REASON_MAX) {
      return text(400, `"reason" must be a text of 1 to ${REASON_MAX} characters.\n`);
    }
    const force = { holder: id, reason: reason.trim(), wait: CONFIRM_MS };
    const { ended, overlap } = await this.#holdfast.forceRelease(key, force);
    this.#watch.refresh();
    return json(200, { ended, overlap });
  }
}

async function bodyOf(request: Request): Promise<unknown> {
  const type = request.headers.get('content-type') ?? '';
  if (!type.startsWith('application/json')) return undefined;
  try {
    return JSON.parse(await textOf(request));
  } catch {
    return undefined;
  }
}

/** @throws RangeError if the body is too long; the rest of it is not read */
async function textOf({ body }: Request): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body ?? []) {
    size += part.length;
    if (size > BODY_MAX) throw new RangeError('the body is too long');
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
