/** Pages that do not read: their events are bounded in bytes, and their number is bounded. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setImmediate as immediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BEAT_MS, BEHIND_MAX } from '../../src/events.js';
import { nodeHandler } from '../../src/index.js';
import { PAGE, PATIENT, Views } from '../views.js';

/** So many locks change at each look; their rows are more than the bound. */
const LOCKS = 1000;
const LOOKS = 40;

let views: Views;

beforeEach(async () => {
  views = await Views.create();
});
afterEach(() => views.stop());

const open = () => views.view({ authorize: () => 'read', every: 1 });
type View = ReturnType<typeof open>;

async function stream(view: View): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const { body } = await view.fetch(new Request(`${PAGE}api/events`));
  return (body as ReadableStream<Uint8Array>).getReader();
}

/** Each list has other fences, so that all rows change. Resolves to the number of lists so far. */
function busyList(): () => number {
  let looks = 0;
  const info = { permits: 1, used: 1, holderCount: 1, waiterCount: 0, parkedCount: 0 };
  vi.spyOn(views.holdfast, 'list').mockImplementation(async function* list() {
    looks += 1;
    for (let at = 0; at < LOCKS; at++) {
      const holders = [{ id: `${at}`, fence: looks, heldFor: 0, host: 'web-1', pid: 1 }];
      yield { ...info, key: `order:${at}`, fence: looks, holders } as never;
    }
  });
  return () => looks;
}

const textOf = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);

describe('a page that does not read', () => {
  it('has at most one list in wait, and then gets all rows as they are now', async () => {
    const view = open();
    const looks = busyList();
    const slow = await stream(view);
    const fast = await stream(view);
    void (async () => {
      for (;;) if ((await fast.read()).done) return;
    })().catch(() => undefined);
    expect(textOf((await slow.read()).value)).toBe('retry: 1000\n\n');
    // then it gets changes
    expect(textOf((await slow.read()).value)).toMatch(/^event: whole/);
    const before = looks();
    await vi.waitFor(() => expect(looks()).toBeGreaterThan(before + LOOKS), PATIENT);
    // what has waited for the page
    let [whole, size] = ['', 0];
    while (whole === '') {
      const text = textOf((await slow.read()).value);
      if (text.startsWith('event: whole')) whole = text;
      else size += text.length;
      expect(size).toBeLessThanOrEqual(2 * BEHIND_MAX);
    }
    expect(size).toBeGreaterThan(0);
    const rows = JSON.parse(whole.split('data: ')[1] ?? '') as { fence: number }[];
    expect(rows).toHaveLength(LOCKS);
    expect(rows[0]?.fence).toBeGreaterThan(before);
    view.close();
  });

  it('is cut after two beats', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      const view = open();
      const slow = await stream(view);
      await slow.read();
      vi.advanceTimersByTime(2 * BEAT_MS);
      await expect(slow.read()).rejects.toThrow('too slow');
      // the control: one that reads gets a comment
      const fast = await stream(view);
      for (const told of ['retry: 1000', 'event: whole']) {
        expect(textOf((await fast.read()).value)).toContain(told);
      }
      for (let beat = 0; beat < 4; beat++) {
        const read = fast.read();
        await immediate();
        vi.advanceTimersByTime(BEAT_MS);
        expect(textOf((await read).value)).toBe(':\n\n');
      }
      view.close();
    } finally {
      vi.useRealTimers();
    }
  });

  it('loses its connection when the view is closed, behind as it is', async () => {
    const view = open();
    const looks = busyList();
    let closed = false;
    const url = await views.listen((incoming, out) => {
      incoming.socket.on('close', () => (closed = true));
      nodeHandler(view)(incoming, out);
    });
    const asked = request(`${url}/api/events`);
    const answered = once(asked, 'response') as Promise<[IncomingMessage]>;
    asked.on('error', () => undefined).end();
    const [response] = await answered;
    response.on('error', () => undefined).pause();
    const before = looks();
    await vi.waitFor(() => expect(looks()).toBeGreaterThan(before + LOOKS), PATIENT);
    expect(closed).toBe(false);
    view.close();
    await vi.waitFor(() => expect(closed).toBe(true), PATIENT);
  });
});

describe('the number of pages', () => {
  it('is bounded, and a page that leaves makes room', async () => {
    const view = views.view({ authorize: () => 'read', maxPages: 2 });
    const ask = () => view.fetch(new Request(`${PAGE}api/events`));
    const [first] = [await ask(), await ask()];
    const refused = await ask();
    expect([refused.status, await refused.text()]).toEqual([503, '2 pages are open already.\n']);
    await first.body?.cancel();
    const again = await ask();
    expect(again.status).toBe(200);
    view.close();
    await expect.poll(async () => (await ask()).status, PATIENT).toBe(200);
    view.close();
  });

  it.each([0, 1.5, '3', Infinity])('cannot be %s', (maxPages) => {
    expect(() => views.view({ maxPages: maxPages as number })).toThrow('"maxPages"');
  });

  it('does not count a request without a body', async () => {
    const view = views.view({ authorize: () => 'read' });
    const list = vi.spyOn(views.holdfast, 'list');
    const head = await view.fetch(new Request(`${PAGE}api/events`, { method: 'HEAD' }));
    expect([head.status, list.mock.calls.length]).toEqual([405, 0]);
  });
});
