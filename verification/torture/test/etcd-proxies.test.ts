/** The proxies in front of etcd and between its members, with servers that answer at once. */
import { createServer as createHttp, type Server } from 'node:http';
import { type AddressInfo, connect, createServer, type Server as NetServer } from 'node:net';
import { sleep, until } from 'holdfast-testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HttpProxy } from '../src/etcd/http-proxy.js';
import { PeerProxies } from '../src/etcd/peer-proxy.js';

const portOf = (server: Server | NetServer): number => (server.address() as AddressInfo).port;

describe('in front of a member', () => {
  let member: Server;
  let proxy: HttpProxy;
  let ahead = 0;
  /** Lets a watch go on. */
  let goOn: () => void;
  /** The bodies that the member received. */
  let received: string[];

  beforeEach(async () => {
    received = [];
    ahead = 0;
    member = createHttp((asked, response) => {
      void asked.toArray().then((parts) => {
        received.push(Buffer.concat(parts as Buffer[]).toString());
        if (asked.url === '/v3/watch') {
          response.write('{"created":true}\n{"ev');
          goOn = () => void response.write('ents":[]}\n{"created":false}\n');
        } else response.end('answer');
      });
    });
    await new Promise<void>((resolve) => member.listen(0, '127.0.0.1', resolve));
    const clock = (): number => Date.now() + ahead;
    proxy = await HttpProxy.start(`http://127.0.0.1:${portOf(member)}`, clock);
  });

  afterEach(async () => {
    await proxy[Symbol.asyncDispose]();
    member.closeAllConnections();
    member.close();
  });

  const ask = (body: string): Promise<Response> =>
    fetch(`${proxy.url}/v3/kv/txn`, { method: 'POST', body });
  const answer = async (body: string): Promise<string> => (await ask(body)).text();

  it('passes requests on, with the time of the member', async () => {
    ahead = 3_600_000;
    const response = await ask('one');
    expect(await response.text()).toBe('answer');
    const date = Date.parse(response.headers.get('date') ?? '');
    expect(Math.abs(date - Date.now() - ahead)).toBeLessThan(60_000);
    expect(received).toEqual(['one']);
  });

  it('loses an answer that the member has given, and closes the connection', async () => {
    proxy.loseReplies(() => 'cut');
    await expect(answer('one')).rejects.toThrow('fetch failed');
    expect(received).toEqual(['one']);
  });

  it('loses requests, and closes their connections at the end', async () => {
    proxy.blackhole('requests');
    const asked = answer('one').catch(() => 'failed');
    await until(() => proxy.lost === 1);
    proxy.heal();
    expect(await asked).toBe('failed');
    expect(received).toEqual([]);
    expect(await answer('two')).toBe('answer');
  });

  it('passes a request on that its client has given up', async () => {
    proxy.holdRequests();
    const gaveUp = new AbortController();
    const init = { method: 'POST', body: 'late', signal: gaveUp.signal };
    const asked = fetch(`${proxy.url}/v3/kv/txn`, init);
    await until(() => proxy.held === 1);
    gaveUp.abort();
    await expect(asked).rejects.toThrow();
    expect(received).toEqual([]);
    proxy.heal();
    await until(() => received.includes('late'));
  });

  it('repeats a request', async () => {
    proxy.repeat(() => 1);
    expect(await answer('one')).toBe('answer');
    await until(() => received.length === 2);
  });

  it('takes no connection for a while', async () => {
    proxy.refuse();
    await expect(answer('one')).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    proxy.heal();
    expect(await until(() => answer('two').catch(() => undefined))).toBe('answer');
  });

  const watched = async (): Promise<{ text: string }> => {
    const seen = { text: '' };
    const response = await fetch(`${proxy.url}/v3/watch`, { method: 'POST', body: '{}' });
    void (async () => {
      const lines = response.body?.pipeThrough(new TextDecoderStream());
      for await (const text of lines ?? []) seen.text += text;
    })().catch(() => undefined);
    return seen;
  };

  it('passes the lines of a watch on, and drops messages only', async () => {
    const all = await watched();
    await until(() => all.text.includes('true'));
    goOn();
    await until(() => all.text.endsWith('false}\n'));
    expect(all.text).toContain('{"events":[]}\n');
    proxy.dropMessages();
    const some = await watched();
    await until(() => some.text.includes('true'));
    goOn();
    await until(() => some.text.endsWith('false}\n'));
    expect(some.text).not.toContain('events');
  });

  it('silences a watch, which stays open', async () => {
    const seen = await watched();
    await until(() => seen.text.includes('true'));
    proxy.silenceWatches();
    goOn();
    await sleep(60);
    expect(seen.text).not.toContain('false');
  });
});

describe('between members', () => {
  const open: { close(): unknown }[] = [];

  afterEach(() => {
    for (const one of open.splice(0)) one.close();
  });

  it('loses all bytes of one member in both directions, and those of no other', async () => {
    const heard: string[] = [];
    const server = createServer((socket) => {
      socket.on('data', (bytes) => {
        heard.push(String(bytes).slice(-1));
        socket.write('x');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const peers = new PeerProxies();
    open.push(server, { close: () => void peers[Symbol.asyncDispose]() });
    const ports = [await peers.add(portOf(server)), await peers.add(portOf(server))];
    peers.ids = ['a', 'b'];
    const from = (id: string, to: number): ReturnType<typeof connect> => {
      const socket = connect(ports[to] as number, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.resume();
      open.push({ close: () => socket.destroy() });
      socket.write(`GET / HTTP/1.1\r\nX-Server-From: ${id}\r\n\r\n1`);
      return socket;
    };
    const [toA, fromA, other] = [from('c', 0), from('a', 1), from('c', 1)];
    await until(() => heard.length === 3);
    peers.cutOff('a');
    for (const [socket, text] of [
      [toA, '2'],
      [fromA, '3'],
      [other, '4'],
    ] as const) {
      socket.write(text);
    }
    await until(() => heard.includes('4'));
    await sleep(20);
    expect(heard.filter((one) => one !== '1')).toEqual(['4']);
    peers.heal();
    await until(() => toA.destroyed && fromA.destroyed);
    expect(other.destroyed).toBe(false);
  });
});
