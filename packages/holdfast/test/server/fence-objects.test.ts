/**
 * `fencedPut` over HTTP, with a small store that has the answers of S3, and conflicts on request.
 * `fence-azure.test.ts` has a store that is a product.
 */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type FencedObject, fencedPut } from '../../src/fence.js';
import {
  interrupted,
  objectAt,
  type ObjectStore,
  startObjectStore,
  withFence,
} from '../support/object-store.js';

let store: ObjectStore;
beforeAll(async () => {
  store = await startObjectStore();
});
afterAll(() => store.close());
beforeEach(() => {
  store.objects.clear();
  store.log.length = 0;
});

const write = (body: string, fence: number): Promise<boolean> =>
  fencedPut(objectAt(store.url('a'), body), fence);

const stored = (body: string, fence: number): object => ({
  etag: expect.stringMatching(/^"[0-9a-f]{32}"$/),
  body: withFence(body, fence),
  fence: `${fence}`,
});

it('accepts the first, an equal and a greater fence, and refuses a smaller one', async () => {
  expect(await write('a', 2 ** 52)).toBe(true);
  expect(await write('b', 2 ** 52)).toBe(true);
  expect(await write('c', 2 ** 52 + 1)).toBe(true);
  expect(await write('late', 2 ** 52)).toBe(false);
  expect(store.objects.get('a')).toEqual(stored('c', 2 ** 52 + 1));
});

it('refuses an earlier holder if a later one writes after its metadata was read', async () => {
  for (const before of [undefined, 1]) {
    store.objects.clear();
    if (before !== undefined) await write('before', before);
    const early = interrupted(objectAt(store.url('a'), 'early'), () => write('later', 9));
    expect(await fencedPut(early, 5)).toBe(false);
    expect(store.objects.get('a')).toEqual(stored('later', 9));
    expect(store.log.at(-2)).toBe('PUT 412');
  }
});

it('refuses an earlier holder also if the later one writes the same body again', async () => {
  await write('same', 1);
  const early = interrupted(objectAt(store.url('a'), 'early'), () => write('same', 9));
  expect(await fencedPut(early, 5)).toBe(false);
  expect(store.objects.get('a')).toEqual(stored('same', 9));
});

it('negative control: without the fence in the body, the ETag is the same', async () => {
  const plain = (body: string): FencedObject => objectAt(store.url('a'), body, (text) => text);
  await fencedPut(plain('same'), 1);
  const early = interrupted(plain('early'), () => fencedPut(plain('same'), 9));
  expect(await fencedPut(early, 5)).toBe(true);
  expect(store.objects.get('a')).toMatchObject({ body: 'early', fence: '5' });
});

it('negative control: without conditional writes, an earlier holder overwrites', async () => {
  store.unconditional = true;
  try {
    const early = interrupted(objectAt(store.url('a'), 'early'), () => write('later', 9));
    expect(await fencedPut(early, 5)).toBe(true);
    expect(store.objects.get('a')).toEqual(stored('early', 5));
  } finally {
    store.unconditional = false;
  }
});

it('repeats after an earlier writer, a conflict, and the removal of the object', async () => {
  const object = objectAt(store.url('a'), 'new');
  expect(
    await fencedPut(
      interrupted(object, () => write('earlier', 3)),
      5,
    ),
  ).toBe(true);
  store.conflicts = 2;
  expect(await fencedPut(object, 6)).toBe(true);
  const removes = (): Promise<unknown> => fetch(store.url('a'), { method: 'DELETE' });
  expect(await fencedPut(interrupted(object, removes), 7)).toBe(true);
  expect(store.objects.get('a')).toEqual(stored('new', 7));
});

it('of many writers at once, the last fence remains', async () => {
  const results = await Promise.all([5, 3, 8, 1, 7, 2, 6, 4].map((n) => write(`${n}`, n)));
  expect(results[2]).toBe(true);
  expect(store.objects.get('a')).toEqual(stored('8', 8));
});

it('refuses a fence that is none, and ends if the store never accepts', async () => {
  for (const bad of [-1, 1.5, 2 ** 53])
    await expect(write('x', bad)).rejects.toMatchObject({ option: 'fence' });
  store.objects.set('a', { etag: '"0"', fence: 'seven', body: '' });
  await expect(write('x', 1)).rejects.toMatchObject({ option: 'fence' });
  store.objects.set('a', { etag: '"0"', fence: undefined, body: '' });
  expect(await write('x', 1)).toBe(true);
  store.conflicts = Infinity;
  await expect(write('x', 2)).rejects.toMatchObject({ code: 'HOLDFAST_REFUSED' });
  store.conflicts = 0;
});
