/** What the mounts do besides the frameworks' own part, see `frameworks.test.ts`. */
import { Agent, request } from 'node:http';
import { connect, createServer } from 'node:http2';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { honoHandler, nodeHandler } from '../../src/index.js';
import { Views } from '../views.js';

let views: Views;

beforeEach(async () => {
  views = await Views.create();
});
afterEach(() => views.stop());

describe('mounts', () => {
  it('a path with two slashes is no host', async () => {
    const url = await views.listen(nodeHandler(views.view()));
    const response = await views.fetch(`${url}//localhost/app.js`);
    expect(response.status).toBe(404);
  });

  it('a query may have a second question mark', async () => {
    const lease = await views.holdfast.mutex('what?really').acquire();
    const url = await views.listen(nodeHandler(views.view()));
    const response = await views.fetch(`${url}/api/lock?key=what?really`);
    expect(await response.json()).toMatchObject({ key: 'what?really', holderCount: 1 });
    await lease.release();
  });

  it('an unread body does not hold up the next request of the connection', async () => {
    const url = await views.listen(
      nodeHandler(
        views.view({ authorize: (asked) => (asked.headers.has('x-me') ? 'read' : false) }),
      ),
    );
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = (method: string, headers: Record<string, string>, body = ''): Promise<number> =>
      new Promise((resolve, reject) => {
        const asked = request(`${url}/api/lock?key=a`, { method, headers, agent }, (answer) => {
          answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
        });
        asked.on('error', reject).end(body);
      });
    for (const size of [1000, 200_000, 1_000_000]) {
      expect(await ask('POST', {}, 'x'.repeat(size))).toBe(403);
      expect(await ask('GET', { 'x-me': 'yes' })).not.toBe(403);
    }
    agent.destroy();
  });

  it('answers over HTTP/2', async () => {
    const handler = nodeHandler(views.view({ authorize: () => 'read' }));
    const server = createServer(handler as never);
    const lease = await views.holdfast.mutex('a').acquire();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const session = connect(`http://127.0.0.1:${port}`);
    const stream = session.request({ ':path': '/api/lock?key=a' });
    const status = await new Promise((resolve, reject) => {
      stream.on('response', (headers) => resolve(headers[':status'])).on('error', reject);
    });
    stream.resume();
    expect(status).toBe(200);
    await lease.release();
    session.destroy();
    server.close();
  });

  it('Hono gives the socket of Node, and nothing elsewhere', async () => {
    const handler = honoHandler(views.view({ basePath: '/locks' }));
    const { headers } = views;
    const raw = new Request('http://localhost/locks/', { headers });
    const incoming = { socket: { remoteAddress: '127.0.0.1' } };
    expect((await handler({ req: { raw }, env: { incoming } })).status).toBe(200);
    expect((await handler({ req: { raw }, env: {} })).status).toBe(403);
    const other = new Request('http://localhost/locksmith');
    expect((await handler({ req: { raw: other }, env: { incoming } })).status).toBe(404);
  });
});
