/** Decides what a request may do. */
import { randomBytes, timingSafeEqual } from 'node:crypto';

/** `read`; `write` for forced releases too; `false` for nothing. */
export type Access = 'read' | 'write' | false;

/** What the mount knows of the connection. */
export interface Peer {
  /** The address of the other end of the socket. A header is no such address. */
  readonly address: string | undefined;
}

/** Decides about one request. */
export type Authorize = (request: Request) => Access | Promise<Access>;

/** Headers that a proxy adds. Behind one, the address of the socket is that of the proxy. */
const PROXY = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];
const TOKEN_BYTES = 32;
const COOKIE = 'holdfast-view';

/** A new secret of 256 bits as text. */
export function createToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** Compares in a time that does not depend on the place of the first difference. */
export function isSame(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** True for an address of this machine. */
export function isLoopback(address: string | undefined): boolean {
  if (address === undefined) return false;
  return /^(::ffff:)?127\.\d+\.\d+\.\d+$/u.test(address) || address === '::1';
}

/** True for the name of this machine in a URL: another name may have been rebound to it. */
export function isLocalName(hostname: string): boolean {
  return hostname === 'localhost' || isLoopback(hostname.replace(/^\[|\]$/gu, ''));
}

/**
 * The access without `authorize`: for requests of this machine that know the start-up token.
 *
 * The address of the socket alone decides nothing: a proxy on this machine may pass requests of
 * others on, without a header that tells it. The token is in the URL that is printed at the start.
 * The first request with it gets a cookie with the same secret, so the token leaves the address
 * bar. A program may send the token as `Authorization: Bearer TOKEN`.
 */
export class LocalAccess {
  readonly token: string = createToken();
  readonly #most: Access;

  /** @param most the access of a request that is let through */
  constructor(most: Access) {
    this.#most = most;
  }

  of(request: Request, peer: Peer | undefined): Access {
    if (!isLoopback(peer?.address)) return false;
    if (PROXY.some((name) => request.headers.has(name))) return false;
    const url = new URL(request.url);
    if (!isLocalName(url.hostname)) return false;
    return this.#given(request, url).some((one) => isSame(one, this.token)) && this.#most;
  }

  /** The `Set-Cookie` header that replaces the token in a URL. */
  cookie(url: URL): string {
    return `${nameOfCookie(url)}=${this.token}; HttpOnly; SameSite=Strict`;
  }

  /** The secrets in a request. */
  #given({ headers }: Request, url: URL): string[] {
    const bearer = /^Bearer (\S+)$/iu.exec(headers.get('authorization') ?? '')?.[1];
    const cookies = (headers.get('cookie') ?? '').split(';').map((one) => one.trim().split('='));
    const name = nameOfCookie(url);
    const ours = cookies.filter(([key]) => key === name).map(([, value]) => value);
    return [tokenIn(url), bearer, ...ours].filter((one) => one !== undefined);
  }
}

/** The token in a URL. */
export function tokenIn(url: URL): string | undefined {
  return url.searchParams.get('token') ?? undefined;
}

/** Cookies belong to a host and not to a port, so two views of a machine need two names. */
function nameOfCookie({ port }: URL): string {
  return `${COOKIE}-${port === '' ? '80' : port}`;
}

/** True for a request that a page of another site may have caused. */
export function isCrossSite({ headers, url }: Request): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin' && site !== 'none') return true;
  const origin = headers.get('origin');
  if (origin === null) return false;
  // the scheme may differ behind a proxy that ends TLS
  return (
    !URL.canParse(origin) || new URL(origin).host !== (headers.get('host') ?? new URL(url).host)
  );
}

/** A link in a page of another site: it opens a tab, and that page cannot read the answer. */
export function isLink({ headers, method }: Request): boolean {
  const [mode, dest] = ['mode', 'dest'].map((name) => headers.get(`sec-fetch-${name}`));
  return method === 'GET' && mode === 'navigate' && dest === 'document';
}
