/** What the mounts do besides the frameworks' own part, see `frameworks.test.ts`. */
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
