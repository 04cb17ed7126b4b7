/** Decides what a request may do. */

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
 * The access without `authorize`: only for requests of this machine that no proxy has passed on.
 * @param most the access that they get
 */
export function localAccess(request: Request, peer: Peer | undefined, most: Access): Access {
  if (!isLoopback(peer?.address)) return false;
  if (PROXY.some((name) => request.headers.has(name))) return false;
  const { hostname } = new URL(request.url);
  return isLocalName(hostname) ? most : false;
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
