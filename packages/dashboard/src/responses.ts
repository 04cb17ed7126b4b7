/** Responses, with the headers that keep foreign scripts and frames away. */

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

export const headers = (type: string): Record<string, string> => ({
  ...SECURITY,
  'content-type': type,
});

export function text(status: number, body: string): Response {
  return new Response(body, { status, headers: headers('text/plain; charset=utf-8') });
}

export function html(body: string): Response {
  return new Response(body, { headers: headers('text/html; charset=utf-8') });
}

export function json(status: number, body: unknown): Response {
  return new Response(JSON.stringify(body), { status, headers: headers('application/json') });
}

export function redirect(status: number, to: string, more: Record<string, string> = {}): Response {
  return new Response(null, { status, headers: { ...SECURITY, ...more, location: to } });
}

/** The page asks anew: a browser sends a strict cookie then, also after a foreign link. */
export function again(to: string, more: Record<string, string>): Response {
  return new Response('', {
    headers: { ...headers('text/html'), ...more, refresh: `0; url=${to}` },
  });
}
