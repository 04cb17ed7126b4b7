/** The view over HTTP: access, pages and events. */
import type { Holdfast } from 'holdfast';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { dashboard } from '../../src/index.js';
import { LOCAL, PAGE, PATIENT, tokenIn, Views } from '../views.js';

let views: Views;
let holdfast: Holdfast;

beforeEach(async () => {
  views = await Views.create();
  ({ holdfast } = views);
});
afterEach(() => views.stop());

/** Reads events from a stream until `isEnough`. */
async function events(
  url: string,
  isEnough: (found: readonly { event: string; data: never }[]) => boolean,
): Promise<{ event: string; data: never }[]> {
  const stop = new AbortController();
  views.stops.push(() => stop.abort());
  const { body } = await views.fetch(`${url}api/events`, { signal: stop.signal });
  const reader = (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream());
  let text = '';
  for await (const part of reader as unknown as AsyncIterable<string>) {
    text += part;
    const found = [...text.matchAll(/event: (\w+)\ndata: (.*)\n\n/gu)].map(
      ([, event = '', data = 'null']) => ({ event, data: JSON.parse(data) as never }),
    );
    if (isEnough(found)) return found;
  }
  throw new Error(`the stream ended: ${text}`);
}

describe('`authorize`', () => {
  it.each([
    ['read', 200, false],
    ['write', 200, true],
    [false, 403, false],
    [undefined as never, 403, false],
    [null as never, 403, false],
    [true as never, 403, false],
    ['yes' as never, 403, false],
  ] as const)('%s', async (access, status, hasToken) => {
    const view = dashboard(holdfast, { authorize: async () => access });
    // a request that local access would answer, if `authorize` did not count
    const headers = { authorization: `Bearer ${view.localToken}` };
    const response = await view.fetch(new Request(PAGE, { headers }), LOCAL);
    expect([response.status, view.localToken]).toEqual([status, undefined]);
    const token = tokenIn(await response.text());
    expect(Boolean(token)).toBe(hasToken);
  });

  it('that throws lets nothing through, and only the operator sees its error', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
    const view = dashboard(holdfast, {
      authorize: () => {
        throw new Error('no session');
      },
    });
    const response = await view.fetch(new Request(PAGE), LOCAL);
    expect(response.status).toBe(403);
    expect(await response.text()).toContain('has refused the request');
    // once a minute: any client may cause it
    await view.fetch(new Request(PAGE), LOCAL);
    expect(warn.mock.calls).toEqual([
      [expect.stringContaining('no session'), { code: 'HOLDFAST_AUTHORIZE' }],
    ]);
  });

  it('must be a function', () => {
    expect(() => dashboard(holdfast, { authorize: true as never })).toThrow('"authorize"');
  });
});

it.each([
  ['authorise', { authorise: () => 'write' }],
  ['basePath', { basePath: 'ops/locks' }],
  ['localWrites', { localWrites: 'yes' }],
])('a wrong option is refused: %s', (option, options) => {
  const refused = expect.objectContaining({ code: 'HOLDFAST_BAD_OPTION', option });
  expect(() => dashboard(holdfast, options as object)).toThrow(refused);
});

it.each([[undefined], [{}]])('an instance is needed, not %j', (instance) => {
  const refused = expect.objectContaining({ code: 'HOLDFAST_BAD_OPTION', option: 'holdfast' });
  expect(() => dashboard(instance as never)).toThrow(refused);
});

describe('the page', () => {
  it('has no remote or inline parts, and a policy that forbids them', async () => {
    const { url } = await views.start();
    const response = await views.fetch(url);
    const page = await response.text();
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/u);
    expect(page).not.toMatch(/https?:|\son\w+=|style=|<style|<script(?![^>]* src=)/u);
    const files = [...page.matchAll(/(?:src|href)=['"]\.\/([^'"]+)/gu)].map(([, file]) => file);
    expect(files.length).toBeGreaterThan(1);
    for (const file of [...files, 'tree.js', 'detail.js', 'histories.js', 'timeline.js']) {
      const asset = await views.fetch(url + file);
      expect([file, asset.status]).toEqual([file, 200]);
      expect(asset.headers.get('x-content-type-options')).toBe('nosniff');
      expect(await asset.text()).not.toMatch(/innerHTML|https?:\/\/(?!www\.w3\.org)/u);
    }
  });

  it.each(['nothing', 'api/nothing', '../package.json', 'app.js/'])(
    '%s is unknown',
    async (path) => {
      const { url } = await views.start();
      expect((await views.fetch(url + path)).status).toBe(404);
    },
  );

  it('reports a store that does not answer', async () => {
    const { url } = await views.start();
    vi.spyOn(holdfast, 'inspect').mockRejectedValue(new Error('no reply'));
    const response = await views.fetch(`${url}api/lock?key=k`);
    expect([response.status, await response.text()]).toEqual([503, 'no reply\n']);
  });
});

it('a key that the library refuses is a bad request, not an outage', async () => {
  const { url } = await views.start();
  const response = await views.fetch(`${url}api/lock?key=${'x'.repeat(10_000)}`);
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('key')]);
});

describe('the events', () => {
  it('are all locks first, and changes later', async () => {
    const lease = await holdfast.mutex('invoice:42').acquire();
    const { url } = await views.start();
    let step = 0;
    const found = await events(url, (sofar) => {
      if (sofar.length === 1 && step === 0) {
        step = 1;
        void lease.release();
        void holdfast.mutex('invoice:43').acquire();
      }
      const changes = sofar.flatMap(({ data }) => (data as { gone?: string[] }).gone ?? []);
      return changes.includes('invoice:42') && JSON.stringify(sofar).includes('invoice:43');
    });
    const [whole] = found;
    expect(whole).toMatchObject({
      event: 'whole',
      data: [{ key: 'invoice:42', state: 'held', holders: 1, fence: lease.fence }],
    });
    expect(found.slice(1).every(({ event }) => event === 'change')).toBe(true);
  });

  it('come only when a lock changes, not with the time', async () => {
    await holdfast.mutex('k').acquire();
    const { url } = await views.start();
    const list = vi.spyOn(holdfast, 'list');
    const seen: number[] = [];
    void events(url, (found) => {
      seen.push(found.length);
      return false;
    }).catch(() => undefined);
    await vi.waitFor(() => expect(list.mock.calls.length).toBeGreaterThan(5), PATIENT);
    expect(seen.at(-1)).toBe(1);
  });

  it('list the locks once for all pages, and not without a page', async () => {
    const { url } = await views.start({ every: 20 });
    const list = vi.spyOn(holdfast, 'list');
    const pages = [1, 2, 3].map(() => new AbortController());
    await Promise.all(pages.map(({ signal }) => views.fetch(`${url}api/events`, { signal })));
    await vi.waitFor(() => expect(list.mock.calls.length).toBeGreaterThan(2), PATIENT);
    for (const page of pages) page.abort();
    let before = -1;
    await vi.waitFor(
      () => {
        const { length } = list.mock.calls;
        const same = length === before;
        before = length;
        expect(same).toBe(true);
      },
      { ...PATIENT, interval: 100 },
    );
  });

  it.each([-1, Number.NaN, Infinity, '5' as never])('refuse the pause %s', (every) => {
    expect(() => dashboard(holdfast, { every })).toThrow('"every"');
  });

  it('list once if the pause is longer than a timer can be', async () => {
    const { url } = await views.start({ every: 2 ** 31 });
    const list = vi.spyOn(holdfast, 'list');
    await events(url, (found) => found.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(list).toHaveBeenCalledTimes(1);
  });

  it('tell of trouble once, and of its end', async () => {
    const { url } = await views.start({ every: 5 });
    let failures = 0;
    const list = vi.spyOn(holdfast, 'list').mockImplementation(() => {
      failures += 1;
      if (failures === 3) list.mockRestore();
      throw new Error('no reply');
    });
    const found = await events(url, (sofar) => sofar.length > 2);
    expect(found).toEqual([
      { event: 'trouble', data: 'no reply' },
      { event: 'trouble', data: '' },
      { event: 'whole', data: [] },
    ]);
  });
});
