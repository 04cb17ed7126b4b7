/** The mounts, over HTTP. */
import type { IncomingMessage } from 'node:http';
import type { Holdfast } from 'holdfast';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dashboard, fastifyPlugin, honoHandler, nodeHandler } from '../../src/index.js';
import { tokenIn, Views } from '../views.js';

let views: Views;
let holdfast: Holdfast;

beforeEach(async () => {
  views = await Views.create();
  ({ holdfast } = views);
});
afterEach(() => views.stop());

describe('mounts', () => {
  it('Express removes the path, and the page gets a slash at its end', async () => {
    const handler = nodeHandler(dashboard(holdfast));
    // as `app.use('/ops/locks', handler)` does
    const url = await views.listen((request, response) => {
      const { url: whole = '/' } = request;
      Object.assign(request, { originalUrl: whole, url: whole.slice('/ops/locks'.length) || '/' });
      handler(request, response);
    });
    const response = await fetch(`${url}/ops/locks`);
    expect([response.status, response.url]).toEqual([200, `${url}/ops/locks/`]);
    expect((await fetch(`${url}/ops/locks/app.js`)).status).toBe(200);
  });

  it('a path with two slashes is no host', async () => {
    const url = await views.listen(nodeHandler(dashboard(holdfast)));
    const response = await fetch(`${url}//localhost/app.js`);
    expect(response.status).toBe(404);
  });

  it('Fastify keeps the path, and has read the body', async () => {
    const lease = await holdfast.mutex('k').acquire();
    const view = dashboard(holdfast, { basePath: '/locks', localWrites: true });
    type Handler = Parameters<Parameters<ReturnType<typeof fastifyPlugin>>[0]['all']>[1];
    const handlers: Handler[] = [];
    await fastifyPlugin(view)({ all: (_, handler) => handlers.push(handler) });
    const read = async (raw: IncomingMessage): Promise<unknown> => {
      const parts: Buffer[] = [];
      for await (const part of raw) parts.push(part as Buffer);
      const text = Buffer.concat(parts).toString();
      return text === '' ? undefined : JSON.parse(text);
    };
    const url = await views.listen((raw, response) => {
      const handle = (body: unknown): unknown =>
        handlers[1]?.({ raw, body }, { hijack: () => undefined, raw: response });
      void read(raw).then(handle);
    });
    const page = await (await fetch(`${url}/locks`)).text();
    const token = tokenIn(page);
    const response = await fetch(`${url}/locks/api/release`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-holdfast-csrf': token },
      body: JSON.stringify({ key: 'k', id: lease.id, reason: 'r' }),
    });
    expect([response.status, await response.json()]).toEqual([200, { ended: 1 }]);
  });

  it('Hono gives the socket of Node, and nothing elsewhere', async () => {
    const handler = honoHandler(dashboard(holdfast, { basePath: '/locks' }));
    const raw = new Request('http://localhost/locks/');
    const incoming = { socket: { remoteAddress: '127.0.0.1' } };
    expect((await handler({ req: { raw }, env: { incoming } })).status).toBe(200);
    expect((await handler({ req: { raw }, env: {} })).status).toBe(403);
    const other = new Request('http://localhost/locksmith');
    expect((await handler({ req: { raw: other }, env: { incoming } })).status).toBe(404);
  });
});
