/** Access without `authorize`: this machine only, and only with the token of the view. */
import { request, type RequestListener } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Dashboard, dashboard, nodeHandler, serve } from '../../src/index.js';
import { LOCAL, PAGE, tokenIn, Views } from '../views.js';

let views: Views;
let view: Dashboard;

beforeEach(async () => {
  views = await Views.create();
  view = views.view({ localWrites: true });
});
afterEach(() => views.stop());

async function status(
  url: string,
  peer: { address: string | undefined } | undefined,
  headers: Record<string, string> = views.headers,
): Promise<number> {
  return (await view.fetch(new Request(url, { headers }), peer)).status;
}

describe('the address', () => {
  it.each(['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1'])('answers %s', async (address) => {
    expect(await status(PAGE, { address })).toBe(200);
  });

  it.each(['10.0.0.8', '::ffff:10.0.0.8', '127.evil.example.1', 'fe80::1', '', undefined])(
    'refuses %s',
    async (address) => {
      expect(await status(PAGE, { address })).toBe(403);
    },
  );

  it('refuses a request whose socket is not known, with any header', async () => {
    const headers = { ...views.headers, 'x-forwarded-for': '127.0.0.1', host: 'localhost' };
    expect(await status(PAGE, undefined, headers)).toBe(403);
  });

  it.each(['x-forwarded-for', 'forwarded', 'via', 'x-real-ip'])(
    'refuses what a proxy has passed on and says so (%s)',
    async (name) => {
      expect(await status(PAGE, LOCAL, { ...views.headers, [name]: '127.0.0.1' })).toBe(403);
    },
  );

  it('refuses a name that was rebound to this machine', async () => {
    expect(await status('http://evil.example/', LOCAL)).toBe(403);
    expect(await status('http://[::1]:4650/', LOCAL)).toBe(200);
  });

  it('listens on no other address than loopback', async () => {
    await expect(serve(view, { host: '0.0.0.0' })).rejects.toThrow('listens on 127.0.0.1');
    await expect(serve(view, { host: '::' })).rejects.toThrow('not on ::');
    // the control: with `authorize` it does
    const open = dashboard(views.holdfast, { authorize: () => 'read' });
    const served = await serve(open, { host: '::' });
    await served.close();
    expect(served.openUrl).toBe(served.url);
  });
});

describe('the token', () => {
  const paths = ['', 'app.js', 'api/lock?key=k', 'api/events', 'api/release', 'nothing'];

  it.each(paths)('is needed for /%s', async (path) => {
    expect(await status(PAGE + path, LOCAL, {})).toBe(403);
  });

  it.each([
    ['another one', { authorization: `Bearer ${'x'.repeat(43)}` }],
    ['a part of it', { authorization: 'Bearer x' }],
    ['an empty one', { authorization: 'Bearer ' }],
    ['a cookie with another one', { cookie: `holdfast-view-80=${'x'.repeat(43)}` }],
    ['a cookie without a value', { cookie: 'holdfast-view-80' }],
  ])('is refused: %s', async (_, headers) => {
    expect(await status(PAGE, LOCAL, headers)).toBe(403);
    expect(await status(`${PAGE}?token=x`, LOCAL, headers)).toBe(403);
  });

  it('differs from view to view, and is not the token of forced releases', async () => {
    expect(dashboard(views.holdfast).localToken).not.toBe(view.localToken);
    const page = await view.fetch(new Request(PAGE, { headers: views.headers }), LOCAL);
    expect(tokenIn(await page.text())).not.toBe(view.localToken);
  });

  it('becomes a cookie that scripts and other sites do not see', async () => {
    const asked = new Request(`http://localhost:4650/?token=${view.localToken}`);
    const response = await view.fetch(asked, LOCAL);
    expect([response.status, response.headers.get('location')]).toEqual([303, './']);
    const cookie = response.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/^holdfast-view-4650=[\w-]{43}; HttpOnly; SameSite=Strict$/u);
    const headers = { cookie: `other=1; ${cookie.split(';')[0]}` };
    expect(await status('http://localhost:4650/', LOCAL, headers)).toBe(200);
  });

  const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };

  it('opens the view from a link of another site, and the view asks for itself again', async () => {
    const headers = { ...link, 'sec-fetch-dest': 'document' };
    const asked = new Request(`${PAGE}?token=${view.localToken}`, { headers });
    const response = await view.fetch(asked, LOCAL);
    // after a redirect, the browser would not send the new cookie
    expect([response.status, response.headers.get('refresh')]).toEqual([200, '0; url=./']);
    expect(response.headers.get('set-cookie')).toContain(view.localToken);
    expect(await response.text()).toBe('');
  });

  it.each([
    ['a frame', '', { ...link, 'sec-fetch-dest': 'iframe' }],
    ['a script', '', { ...link, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' }],
    ['a link to data', 'api/lock?key=k', { ...link, 'sec-fetch-dest': 'document' }],
  ])('lets no other page have %s', async (_, path, headers) => {
    expect(await status(PAGE + path, LOCAL, { ...views.headers, ...headers })).toBe(403);
    // the control: of the view itself
    const own = { ...views.headers, ...headers, 'sec-fetch-site': 'same-origin' };
    expect(await status(PAGE + path, LOCAL, own)).toBe(200);
  });

  it('is in the URL to open of a server', async () => {
    const served = await serve(view);
    views.stops.push(() => served.close());
    expect(served.openUrl).toBe(`${served.url}?token=${view.localToken}`);
  });
});

describe('a proxy on this machine', () => {
  /** Passes requests on as nginx does by default: with its own `Host`, and no header of a proxy. */
  const nginx =
    (to: URL): RequestListener =>
    (incoming, out) => {
      const headers = { ...incoming.headers, host: to.host, connection: 'close' };
      const { method, url: path } = incoming;
      const passedOn = request({ host: to.hostname, port: to.port, method, path, headers });
      passedOn.on('response', (response) => {
        out.writeHead(response.statusCode as number, response.headers);
        response.pipe(out);
      });
      passedOn.on('error', () => out.destroy());
      incoming.pipe(passedOn);
    };

  it('that tells nothing of itself gets no data, no token and no forced release', async () => {
    const lease = await views.holdfast.mutex('k').acquire();
    const direct = await views.listen(nodeHandler(view));
    const proxied = await views.listen(nginx(new URL(direct)));
    for (const path of ['/', '/api/lock?key=k', '/api/events']) {
      const response = await fetch(proxied + path);
      expect([path, response.status]).toEqual([path, 403]);
      expect(tokenIn(await response.text())).toBe('');
    }
    const page = await (await views.fetch(`${direct}/`)).text();
    const response = await fetch(`${proxied}/api/release`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-holdfast-csrf': tokenIn(page) },
      body: JSON.stringify({ key: 'k', id: lease.id, reason: 'r' }),
    });
    expect([response.status, lease.held]).toEqual([403, true]);
    // the control: the proxy passes the request of the person who has the token
    expect((await views.fetch(`${proxied}/`)).status).toBe(200);
  });
});
