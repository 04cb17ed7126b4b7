/** The view in each framework, with real requests: pages, events, forced releases and access. */
import { request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { DashboardOptions } from '../../src/index.js';
import { FRAMEWORKS, PREFIX } from '../frameworks.js';
import { PATIENT, tokenIn, Views } from '../views.js';

let views: Views;

beforeEach(async () => {
  views = await Views.create();
});
afterEach(() => views.stop());

let sockets = 0;

describe.each(Object.entries(FRAMEWORKS))('%s', (_, [tellsPath, mount]) => {
  async function start(options: DashboardOptions = {}): Promise<Server> {
    const basePath = tellsPath ? PREFIX : '';
    const view = views.view({ every: 10, localWrites: true, basePath, ...options });
    const server = await mount(view);
    views.stops.push(
      () => view.close(),
      () => server.close(),
      () => server.closeAllConnections(),
    );
    return server;
  }

  /** The URL of the application. */
  async function onLoopback(options?: DashboardOptions): Promise<string> {
    const server = await start(options);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** The status of a request to a socket of the file system: its other end has no address. */
  async function statusOnSocket(headers: Record<string, string>, options?: DashboardOptions) {
    const socketPath = join(tmpdir(), `holdfast-view-${process.pid}-${sockets++}.sock`);
    const server = await start(options);
    await new Promise<void>((resolve) => server.listen(socketPath, resolve));
    return new Promise((resolve, reject) => {
      const asked = request({
        ...{ socketPath, path: `${PREFIX}/`, agent: false },
        headers: { ...views.headers, ...headers },
      });
      asked.on('error', reject);
      asked.on('response', (response) => {
        response.resume().on('end', () => resolve(response.statusCode));
      });
      asked.end();
    });
  }

  it('serves the page with a slash at its end, and its files', async () => {
    const url = await onLoopback();
    const page = await views.fetch(url + PREFIX);
    expect([page.status, page.url]).toEqual([200, `${url}${PREFIX}/`]);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const [, script = ''] = /src=['"]\.\/([^'"]+)/u.exec(await page.text()) ?? [];
    const file = await views.fetch(new URL(script, page.url));
    expect([file.status, file.headers.get('content-type')]).toEqual([
      200,
      'text/javascript; charset=utf-8',
    ]);
    const unknown = await views.fetch(`${url}${PREFIX}/nothing`);
    expect([unknown.status, await unknown.text()]).toEqual([404, 'No such page.\n']);
  });

  it('exchanges the token in the URL of the page for a cookie', async () => {
    const url = await onLoopback();
    expect((await fetch(`${url}${PREFIX}/`)).status).toBe(403);
    const token = views.headers['authorization']?.slice('Bearer '.length);
    const steps: string[] = [];
    let at = `${url}${PREFIX}?token=${token}`;
    let cookie: string | undefined;
    for (;;) {
      const headers = cookie === undefined ? {} : { cookie };
      const response = await fetch(at, { redirect: 'manual', headers });
      steps.push(`${response.status} ${new URL(at).pathname}`);
      cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie;
      const to = response.headers.get('location');
      if (to === null) break;
      at = new URL(to, at).href;
    }
    expect(steps).toEqual([`308 ${PREFIX}`, `303 ${PREFIX}/`, `200 ${PREFIX}/`]);
    expect(at).toBe(`${url}${PREFIX}/`);
  });

  it('leaves other paths to the application', async () => {
    const url = await onLoopback();
    for (const path of ['/', '/ops', `${PREFIX}mith/`]) {
      const response = await views.fetch(url + path);
      expect(response.status).toBe(404);
      expect(await response.text()).not.toBe('No such page.\n');
    }
  });

  it('streams the events, until the page is closed', async () => {
    await views.holdfast.mutex('invoice:42').acquire();
    const url = await onLoopback();
    const list = vi.spyOn(views.holdfast, 'list');
    const page = new AbortController();
    const { body } = await views.fetch(`${url}${PREFIX}/api/events`, { signal: page.signal });
    let text = '';
    const read = async (): Promise<void> => {
      for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) text += part;
    };
    const reading = read().catch(() => undefined);
    await vi.waitFor(() => expect(text).toMatch(/event: whole\ndata: .*"invoice:42"/u), PATIENT);
    await views.holdfast.mutex('invoice:43').acquire();
    await vi.waitFor(() => expect(text).toMatch(/event: change\ndata: .*"invoice:43"/u), PATIENT);
    page.abort();
    await reading;
    // without a page no list is made
    await vi.waitFor(
      () => {
        const before = list.mock.calls.length;
        list.mockClear();
        expect(before).toBe(0);
      },
      { ...PATIENT, interval: 100 },
    );
  });

  it('releases by force with the token of the page, and not without it', async () => {
    const lease = await views.holdfast.mutex('k').acquire();
    const url = await onLoopback();
    const token = tokenIn(await (await views.fetch(`${url}${PREFIX}/`)).text());
    const post = (more: Record<string, string>): Promise<Response> =>
      views.fetch(`${url}${PREFIX}/api/release`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...more },
        body: JSON.stringify({ key: 'k', id: lease.id, reason: 'stuck since 02:00' }),
      });
    expect((await post({})).status).toBe(403);
    const elsewhere = { 'x-holdfast-csrf': token, origin: 'http://evil.example' };
    expect((await post(elsewhere)).status).toBe(403);
    expect(lease.held).toBe(true);
    const response = await post({ 'x-holdfast-csrf': token });
    expect([response.status, await response.json()]).toEqual([200, { ended: 1, overlap: 0 }]);
    await vi.waitFor(() => expect(lease.signal.aborted).toBe(true), PATIENT);
    expect(String(lease.signal.reason)).toContain('stuck since 02:00');
  });

  it('asks the socket for the address, and no header', async () => {
    expect(await statusOnSocket({ host: 'localhost' })).toBe(403);
    const pretended = { host: 'localhost', 'x-forwarded-for': '127.0.0.1' };
    expect(await statusOnSocket(pretended)).toBe(403);
    // the control: the same request with the right to read
    expect(await statusOnSocket(pretended, { authorize: () => 'read' })).toBe(200);
    const url = await onLoopback();
    const passedOn = await views.fetch(`${url}${PREFIX}/`, {
      headers: { 'x-forwarded-for': '127.0.0.1' },
    });
    expect(passedOn.status).toBe(403);
  });
});
