/** `fencedPut` with the recipe of docs/fences.md for Azure Blob Storage, on Azurite. */
import { type Azurite, startAzurite } from 'holdfast-testkit';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type FencedObject, fencedPut, type PutCondition } from '../../src/fence.js';
import { interrupted } from '../support/object-store.js';

/** What the recipe uses of a `BlockBlobClient` of `@azure/storage-blob`. */
interface Blob {
  getProperties(): Promise<{ etag: string; metadata: Record<string, string> }>;
  upload(body: string, length: number, options: object): Promise<unknown>;
  downloadToBuffer(): Promise<Buffer>;
  deleteIfExists(): Promise<unknown>;
}
interface Container {
  create(): Promise<unknown>;
  getBlockBlobClient(name: string): Blob;
}
interface Sdk {
  readonly BlobServiceClient: {
    fromConnectionString(text: string): { getContainerClient(name: string): Container };
  };
}

let server: Azurite;
let container: Container;
let blob: Blob;
let count = 0;
/** The statuses with which the store refused a write. */
const refused: number[] = [];

beforeAll(async () => {
  server = await startAzurite();
  const { BlobServiceClient } = server.sdk as Sdk;
  const service = BlobServiceClient.fromConnectionString(server.connectionString);
  container = service.getContainerClient('reports');
  await container.create();
}, 400_000);
afterAll(() => server?.[Symbol.asyncDispose]());
beforeEach(() => {
  blob = container.getBlockBlobClient(`invoice-${count++}.pdf`);
  refused.length = 0;
});

/** The recipe; `conditional` is false for the negative control. */
function objectAt(body: string, conditional = true): FencedObject {
  const status = (error: unknown): number => (error as { statusCode: number }).statusCode;
  return {
    async head() {
      try {
        const { etag, metadata } = await blob.getProperties();
        return { etag, fence: metadata['fence'] };
      } catch (error) {
        if (status(error) === 404) return undefined;
        throw error;
      }
    },
    async put(conditions: PutCondition, fence: string) {
      try {
        const options = { metadata: { fence }, ...(conditional && { conditions }) };
        await blob.upload(body, Buffer.byteLength(body), options);
        return true;
      } catch (error) {
        refused.push(status(error));
        if ([404, 409, 412].includes(status(error))) return false;
        throw error;
      }
    },
  };
}

const write = (body: string, fence: number): Promise<boolean> => fencedPut(objectAt(body), fence);

async function stored(): Promise<unknown> {
  const { metadata } = await blob.getProperties();
  return { body: String(await blob.downloadToBuffer()), ...metadata };
}

it('accepts the first, an equal and a greater fence, and refuses a smaller one', async () => {
  expect(await write('a', 2 ** 52)).toBe(true);
  expect(await write('b', 2 ** 52)).toBe(true);
  expect(await write('c', 2 ** 52 + 1)).toBe(true);
  expect(await write('late', 2 ** 52)).toBe(false);
  expect(await stored()).toEqual({ body: 'c', fence: `${2 ** 52 + 1}` });
});

it.each([
  ['of a new object', 0, 409],
  ['of an object', 1, 412],
])('the write %s by an earlier holder is refused by the store', async (_, before, status) => {
  if (before > 0) await write('before', before);
  const early = interrupted(objectAt('early'), () => write('later', 9));
  expect(await fencedPut(early, 5)).toBe(false);
  expect(await stored()).toEqual({ body: 'later', fence: '9' });
  expect(refused).toEqual([status]);
});

it('negative control: without conditions, an earlier holder overwrites', async () => {
  const early = interrupted(objectAt('early', false), () => write('later', 9));
  expect(await fencedPut(early, 5)).toBe(true);
  expect(await stored()).toEqual({ body: 'early', fence: '5' });
});

it('repeats after an earlier writer, and after the removal of the object', async () => {
  const object = objectAt('new');
  const earlier = interrupted(object, () => write('earlier', 3));
  expect(await fencedPut(earlier, 5)).toBe(true);
  const removed = interrupted(object, () => blob.deleteIfExists());
  expect(await fencedPut(removed, 7)).toBe(true);
  expect(await stored()).toEqual({ body: 'new', fence: '7' });
  expect(refused).toHaveLength(2);
});

it('of many writers at once, the last fence remains', async () => {
  const results = await Promise.all([5, 3, 8, 1, 7, 2, 6, 4].map((n) => write(`${n}`, n)));
  expect(results[2]).toBe(true);
  expect(await stored()).toEqual({ body: '8', fence: '8' });
});
