/** What the mounts do besides the frameworks' own part, see `frameworks.test.ts`. */
import type { Holdfast } from 'holdfast';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dashboard, honoHandler, nodeHandler } from '../../src/index.js';
import { Views } from '../views.js';

let views: Views;
let holdfast: Holdfast;

beforeEach(async () => {
  views = await Views.create();
  ({ holdfast } = views);
});
afterEach(() => views.stop());

describe('mounts', () => {
  it('a path with two slashes is no host', async () => {
    const url = await views.listen(nodeHandler(dashboard(holdfast)));
    const response = await fetch(`${url}//localhost/app.js`);
    expect(response.status).toBe(404);
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
