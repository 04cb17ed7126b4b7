/** Forced releases over HTTP. */
import type { Holdfast } from 'holdfast';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LOCAL, PAGE, PATIENT, tokenIn, Views } from '../views.js';

let views: Views;
let holdfast: Holdfast;

beforeEach(async () => {
  views = await Views.create();
  ({ holdfast } = views);
});
afterEach(() => views.stop());

describe('a forced release', () => {
  const headers = { 'content-type': 'application/json' };

  async function tokenOf(url: string): Promise<string> {
    return tokenIn(await (await views.fetch(url)).text());
  }

  async function post(url: string, body: unknown, more: object = {}): Promise<Response> {
    const init = { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(body) };
    return views.fetch(`${url}api/release`, init);
  }

  it('ends one lease, whose holder hears the reason', async () => {
    const lease = await holdfast.mutex('k').acquire();
    const { url } = await views.start({ localWrites: true });
    const token = await tokenOf(url);
    const body = { key: 'k', id: lease.id, reason: 'stuck since 02:00' };
    const response = await post(url, body, { 'x-holdfast-csrf': token });
    expect([response.status, await response.json()]).toEqual([200, { ended: 1, overlap: 0 }]);
    await vi.waitFor(() => expect(lease.signal.aborted).toBe(true), PATIENT);
    expect(String(lease.signal.reason)).toContain('stuck since 02:00');
  });

  it.each([
    ['without the token', {}],
    ['with a wrong token', { 'x-holdfast-csrf': 'x'.repeat(43) }],
  ])('is refused %s', async (_, more) => {
    const lease = await holdfast.mutex('k').acquire();
    const { url } = await views.start({ localWrites: true });
    const response = await post(url, { key: 'k', id: lease.id, reason: 'r' }, more);
    expect([response.status, lease.held]).toEqual([403, true]);
  });

  it('is refused without the right to write, with the token of a page that has it', async () => {
    const lease = await holdfast.mutex('k').acquire();
    let access: 'read' | 'write' = 'write';
    const { url } = await views.start({ authorize: () => access });
    const token = await tokenOf(url);
    access = 'read';
    expect(await tokenOf(url)).toBe('');
    const body = { key: 'k', id: lease.id, reason: 'r' };
    const response = await post(url, body, { 'x-holdfast-csrf': token });
    expect([response.status, lease.held]).toEqual([403, true]);
  });

  it.each([
    ['sec-fetch-site', 'cross-site'],
    ['sec-fetch-site', 'same-site'],
    ['origin', 'http://evil.example'],
    ['origin', 'null'],
  ])('is refused from another site (%s: %s)', async (name, value) => {
    const lease = await holdfast.mutex('k').acquire();
    const { url } = await views.start({ localWrites: true });
    const token = await tokenOf(url);
    const view = views.view({ localWrites: true });
    const asked = new Request(`${PAGE}api/release`, {
      method: 'POST',
      headers: { ...headers, ...views.headers, 'x-holdfast-csrf': token, [name]: value },
      body: JSON.stringify({ key: 'k', id: lease.id, reason: 'r' }),
    });
    const response = await view.fetch(asked, LOCAL);
    expect(await response.text()).toContain('another site');
    expect([response.status, lease.held]).toEqual([403, true]);
  });

  it.each([
    ['no reason', { key: 'k', id: 'i', reason: ' ' }],
    ['a long reason', { key: 'k', id: 'i', reason: 'r'.repeat(201) }],
    ['no id, which would end all leases', { key: 'k', id: '', reason: 'r' }],
    ['no key', { id: 'i', reason: 'r' }],
    ['a body that is too long', { key: 'k', id: 'i', reason: 'r', more: 'x'.repeat(5000) }],
    ['null', null],
  ])('is refused with %s', async (_, body) => {
    const { url } = await views.start({ localWrites: true });
    const response = await post(url, body, { 'x-holdfast-csrf': await tokenOf(url) });
    expect(response.status).toBe(400);
  });

  it('is refused as a form, and with GET', async () => {
    const { url } = await views.start({ localWrites: true });
    const more = { 'x-holdfast-csrf': await tokenOf(url), 'content-type': 'text/plain' };
    expect((await post(url, { key: 'k', id: 'i', reason: 'r' }, more)).status).toBe(400);
    expect((await views.fetch(`${url}api/release`)).status).toBe(405);
  });
});
