/** The usual function for requests, with servers that answer, break off and stay silent. */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sleep, until } from 'holdfast-testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { noAnswer } from '../../src/failures.js';
import { nodeFetch } from '../../src/node-fetch.js';
import { type FetchFunction, send } from '../../src/transport.js';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function serving(listener: RequestListener): Promise<{ server: Server; endpoint: string }> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const terms = { fetch: nodeFetch, path: '/', body: 'ä', ms: 20_000 };
const ignore = (): void => undefined;

describe('a request', () => {
  it('has its answer, its header `Date`, and keeps its connection', async () => {
    const seen: unknown[] = [];
    const { endpoint } = await serving((asked, response) => {
      seen.push(asked.socket, asked.headers['content-length'], asked.headers['content-type']);
      asked.resume().on('end', () => response.end('ö'.repeat(100_000)));
    });
    const dates: (string | null)[] = [];
    for (let count = 0; count < 2; count += 1) {
      const text = await send({ ...terms, endpoint }, (date) => dates.push(date));
      expect(text).toBe('ö'.repeat(100_000));
    }
    expect(dates.map((one) => Date.parse(one ?? ''))).not.toContain(Number.NaN);
    expect(seen).toEqual([seen[0], '2', 'application/json', seen[0], '2', 'application/json']);
  });

  it('to a port without a server is known to be unsent', async () => {
    const { server, endpoint } = await serving(ignore);
    await new Promise((resolve) => server.close(resolve));
    await expect(send({ ...terms, endpoint }, ignore)).rejects.toMatchObject({
      ...{ kind: 'unanswered', elsewhere: true, message: expect.stringContaining('ECONNREFUSED') },
    });
  });

  it('without an answer in time fails, and may have been executed', async () => {
    const { endpoint } = await serving(ignore);
    await expect(send({ ...terms, endpoint, ms: 20 }, ignore)).rejects.toMatchObject({
      ...{ kind: 'unanswered', elsewhere: false, message: `${endpoint}: no answer in time` },
    });
  });

  it('with a short limit does not wait for another one with a long limit', async () => {
    const { endpoint } = await serving((asked, response) => {
      if (asked.url === '/long') setTimeout(() => response.end('long'), 300);
    });
    const long = send({ ...terms, endpoint, path: '/long' }, ignore);
    const short = [10, 40, 20].map((ms) => send({ ...terms, endpoint, ms }, ignore));
    const ended = await Promise.all(short.map((one) => one.catch((error: Error) => error.message)));
    expect(ended).toEqual(ended.map(() => `${endpoint}: no answer in time`));
    expect(await long).toBe('long');
  });

  it.each([0, 60])('by a function of the user has a signal, read after %i ms', async (wait) => {
    const fetch: FetchFunction = async (_, init) => {
      if (wait > 0) await sleep(wait);
      const { signal } = wait > 0 ? init : { ...init };
      return new Promise((_resolve, reject) => {
        const end = (): void => reject(signal.reason as Error);
        if (signal.aborted) end();
        else signal.addEventListener('abort', end);
      });
    };
    await expect(send({ ...terms, fetch, endpoint: 'a', ms: 20 }, ignore)).rejects.toMatchObject({
      ...{ kind: 'unanswered', message: 'a: no answer in time' },
    });
  });

  it('whose answer breaks off, or stays incomplete, fails', async () => {
    const { endpoint } = await serving((asked, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('half');
      if (asked.url === '/cut') setTimeout(() => response.destroy(), 20);
    });
    await expect(send({ ...terms, endpoint, path: '/cut' }, ignore)).rejects.toMatchObject({
      ...{ kind: 'unanswered', elsewhere: false },
    });
    await expect(send({ ...terms, endpoint, ms: 50 }, ignore)).rejects.toMatchObject({
      ...{ kind: 'unanswered', elsewhere: false },
    });
  });
});

describe('the body', () => {
  const opened = async (control: AbortController): Promise<AsyncIterable<Uint8Array>> => {
    const { endpoint } = await serving((_, response) => response.write('line\n'));
    const init = { method: 'POST', headers: {}, body: '{}', signal: control.signal } as const;
    return (await nodeFetch(endpoint, init)).body as AsyncIterable<Uint8Array>;
  };

  it('is a stream, which ends with the signal', async () => {
    const control = new AbortController();
    const parts = (await opened(control))[Symbol.asyncIterator]();
    expect(Buffer.from((await parts.next()).value as Uint8Array).toString()).toBe('line\n');
    const next = parts.next();
    control.abort();
    const error = await next.catch((reason: unknown) => reason);
    expect(noAnswer('http://a', error)).toMatchObject({ kind: 'unanswered', elsewhere: false });
  });

  it('whose last part is read when the signal comes is no error of the process', async () => {
    const errors: unknown[] = [];
    const heard = (error: unknown): number => errors.push(error);
    process.on('uncaughtException', heard);
    try {
      const { endpoint } = await serving((_, response) => response.end('line\n'));
      const control = new AbortController();
      const init = { method: 'POST', headers: {}, body: '{}', signal: control.signal } as const;
      const { body } = await nodeFetch(endpoint, init);
      const answer = body as IncomingMessage;
      await answer[Symbol.asyncIterator]().next();
      control.abort();
      await until(() => answer.closed);
      await sleep(20);
      expect(errors).toEqual([]);
    } finally {
      process.off('uncaughtException', heard);
    }
  });
});
