/** The handler: a web-standard `Request` in, a `Response` out. */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { type Access, type Authorize, isCrossSite, localAccess, type Peer } from './access.js';
import { ASSETS, page } from './assets.js';
import { eventStream } from './events.js';
import type { Watched } from './rows.js';
import { Watch } from './watch.js';

/** What the view may be told. */
export interface DashboardOptions {
  /**
   * Decides what a request may do: `read`, `write` or `false`. Without it, only requests of this
   * machine are answered, by the address of their socket, and read only.
   */
  readonly authorize?: Authorize;
  /** Without `authorize`: whether requests of this machine may write. Default `false`. */
  readonly localWrites?: boolean;
  /** The path under which the view is mounted, if the mount does not remove it. Default: none. */
  readonly basePath?: string;
  /** The shortest time between two lists of all locks, in ms. Default 1,000. */
  readonly every?: number;
}

/** The view. */
export interface Dashboard {
  /** True if it decides by `authorize`, so that it may be reached from other machines. */
  readonly guarded: boolean;
  /** Answers a request. Without `authorize`, it needs the peer of the socket. */
  fetch(request: Request, peer?: Peer): Promise<Response>;
  /** Ends the streams of events. */
  close(): void;
}

const SECURITY = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
};
const BODY_MAX = 4096;
const REASON_MAX = 200;
const REFUSED =
  'This view answers only requests of its own machine, because it was created without the option ' +
  '"authorize", or its "authorize" has refused the request.\n';

export function dashboard(holdfast: Watched, options: DashboardOptions = {}): Dashboard {
  const { authorize, localWrites = false, basePath = '', every = 1000 } = options;
  if (authorize !== undefined && typeof authorize !== 'function') {
    throw new TypeError('holdfast-dashboard: option "authorize" must be a function');
  }
  const base = basePath.replace(/\/+$/u, '');
  const token = randomBytes(32).toString('base64url');
  const watch = new Watch(holdfast, every);
  const closing = new AbortController();
  const access = (request: Request, peer?: Peer): Access | Promise<Access> =>
    authorize?.(request) ?? localAccess(request, peer, localWrites ? 'write' : 'read');

  async function answer(request: Request, path: string, may: Access): Promise<Response> {
    if (path === '/api/release') return release(request, may);
    if (request.method !== 'GET' && request.method !== 'HEAD') return text(405, 'Only GET.\n');
    if (path === '/') return html(page(may === 'write' ? token : ''));
    const asset = ASSETS.get(path);
    if (asset !== undefined) return new Response(asset.body, { headers: headers(asset.type) });
    if (path === '/api/lock') return lock(new URL(request.url).searchParams.get('key') ?? '');
    if (path !== '/api/events') return text(404, 'No such page.\n');
    return new Response(eventStream(watch, closing.signal), {
      headers: { ...headers('text/event-stream'), 'x-accel-buffering': 'no' },
    });
  }

  async function lock(key: string): Promise<Response> {
    if (key === '') return text(400, 'The key is missing.\n');
    return json(200, await holdfast.inspect(key));
  }

  async function release(request: Request, may: Access): Promise<Response> {
    if (request.method !== 'POST') return text(405, 'Only POST.\n');
    if (may !== 'write') return text(403, 'You may only read.\n');
    const given = request.headers.get('x-holdfast-csrf') ?? '';
    if (!isSame(given, token))
      return text(403, 'The token is missing or wrong: load the page anew.\n');
    const asked = (await bodyOf(request)) as { key?: unknown; id?: unknown; reason?: unknown };
    const { key, id, reason } = asked ?? {};
    if (typeof key !== 'string' || key === '' || typeof id !== 'string' || id === '') {
      return text(400, '"key" and "id" must be texts.\n');
    }
    if (typeof reason !== 'string' || reason.trim() === '' || reason.length > REASON_MAX) {
      return text(400, `"reason" must be a text of 1 to ${REASON_MAX} characters.\n`);
    }
    const ended = await holdfast.forceRelease(key, { id, reason: reason.trim() });
    watch.refresh();
    return json(200, { ended });
  }

  return {
    guarded: authorize !== undefined,
    async fetch(request, peer) {
      const { pathname } = new URL(request.url);
      if (pathname !== base && !pathname.startsWith(`${base}/`))
        return text(404, 'No such page.\n');
      try {
        const may = await access(request, peer);
        if (may !== 'read' && may !== 'write') return text(403, REFUSED);
        if (isCrossSite(request)) return text(403, 'A page of another site asked for this.\n');
        if (pathname === base) return redirect(`${base}/`);
        return await answer(request, pathname.slice(base.length), may);
      } catch (error) {
        return text(503, `${error instanceof Error ? error.message : String(error)}\n`);
      }
    },
    close: () => closing.abort(),
  };
}

async function bodyOf(request: Request): Promise<unknown> {
  const type = request.headers.get('content-type') ?? '';
  if (!type.startsWith('application/json')) return undefined;
  const body = await request.text();
  if (body.length > BODY_MAX) return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function isSame(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}

const headers = (type: string): Record<string, string> => ({ ...SECURITY, 'content-type': type });

function text(status: number, body: string): Response {
  return new Response(body, { status, headers: headers('text/plain; charset=utf-8') });
}

function html(body: string): Response {
  return new Response(body, { headers: headers('text/html; charset=utf-8') });
}

function json(status: number, body: unknown): Response {
  return new Response(JSON.stringify(body), { status, headers: headers('application/json') });
}

function redirect(to: string): Response {
  return new Response(null, { status: 308, headers: { ...SECURITY, location: to } });
}
