/**
 * A small object store over HTTP: HEAD, PUT and DELETE, with the conditional writes of RFC 9110
 * (`If-Match`, `If-None-Match: *`) and the metadata headers, ETags and answers of S3. It is not a
 * product: it implements what the documents of these two say.
 */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FencedObject, PutCondition } from '../../src/fence.js';

interface Kept {
  readonly etag: string;
  readonly fence: string | undefined;
  readonly body: string;
}

export interface ObjectStore {
  readonly objects: Map<string, Kept>;
  /** The requests, as `PUT 412`. */
  readonly log: string[];
  /** Ignores the conditions, as a store without conditional writes does. */
  unconditional: boolean;
  /** Answers so many writes with 409, as S3 does to conditional writes at the same time. */
  conflicts: number;
  url(name: string): string;
  close(): Promise<void>;
}

export async function startObjectStore(): Promise<ObjectStore> {
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    const name = url.slice(1);
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const kept = store.objects.get(name);
      const answer = (status: number): void => {
        store.log.push(`${method} ${status}`);
        response.writeHead(status).end();
      };
      if (method === 'HEAD') {
        if (kept === undefined) return answer(404);
        response.setHeader('ETag', kept.etag);
        if (kept.fence !== undefined) response.setHeader('x-amz-meta-fence', kept.fence);
        return answer(200);
      }
      if (method === 'DELETE') {
        store.objects.delete(name);
        return answer(204);
      }
      if (store.conflicts > 0) {
        store.conflicts--;
        return answer(409);
      }
      const ifMatch = headers['if-match'];
      if (!store.unconditional) {
        // S3 answers 404; RFC 9110 has 412 for it
        if (ifMatch !== undefined && kept === undefined) return answer(404);
        if (ifMatch !== undefined && ifMatch !== kept?.etag) return answer(412);
        if (headers['if-none-match'] === '*' && kept !== undefined) return answer(412);
      }
      const fence = headers['x-amz-meta-fence'] as string | undefined;
      const body = Buffer.concat(parts).toString();
      // as that of S3, it does not depend on the metadata
      const etag = `"${createHash('md5').update(body).digest('hex')}"`;
      store.objects.set(name, { etag, fence, body });
      return answer(200);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const store: ObjectStore = {
    objects: new Map(),
    log: [],
    unconditional: false,
    conflicts: 0,
    url: (name) => `http://127.0.0.1:${port}/${name}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return store;
}

/** The body ends with the fence, as in the recipe of docs/fences.md. */
export const withFence = (body: string, fence: string | number): string => `${body}\n% ${fence}`;

/**
 * The recipe of docs/fences.md with `fetch`.
 * @param bodyOf the body to write; without the fence in it for negative controls
 */
export function objectAt(url: string, body: string, bodyOf = withFence): FencedObject {
  return {
    async head() {
      const { status, headers } = await fetch(url, { method: 'HEAD' });
      if (status === 404) return undefined;
      if (status !== 200) throw new Error(`HEAD: ${status}`);
      const fence = headers.get('x-amz-meta-fence') ?? undefined;
      return { etag: headers.get('etag') ?? '', fence };
    },
    async put({ ifMatch, ifNoneMatch }: PutCondition, fence: string) {
      const headers = new Headers({ 'x-amz-meta-fence': fence });
      if (ifMatch !== undefined) headers.set('If-Match', ifMatch);
      if (ifNoneMatch !== undefined) headers.set('If-None-Match', ifNoneMatch);
      const { status } = await fetch(url, { method: 'PUT', headers, body: bodyOf(body, fence) });
      if (status === 404 || status === 409 || status === 412) return false;
      if (status !== 200) throw new Error(`PUT: ${status}`);
      return true;
    },
  };
}

/** Runs `meanwhile` once, between the reading of the metadata and the write. */
export function interrupted(object: FencedObject, meanwhile: () => Promise<unknown>): FencedObject {
  let first = true;
  return {
    head: object.head,
    async put(condition, fence) {
      if (first) {
        first = false;
        await meanwhile();
      }
      return object.put(condition, fence);
    },
  };
}
