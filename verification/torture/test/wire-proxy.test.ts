/** The proxy in front of PostgreSQL, with a server that answers each request with its bytes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep, until } from 'holdfast-testkit';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WireProxy } from '../src/postgres/wire-proxy.js';

let folder: string;
let server: Server;
let proxy: WireProxy;
/** What the server received. */
let received: string[];
const open: Socket[] = [];

/** A message of the server: type, length, text. */
function frame(type: string, text: string): Buffer {
  const bytes = Buffer.from(`${type}....${text}`);
  bytes.writeUInt32BE(bytes.length - 1, 1);
  return bytes;
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-wire-'));
  received = [];
  server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      received.push(String(bytes));
      const answer = Buffer.concat([frame('A', 'message'), frame('D', 'row'), frame('Z', 'I')]);
      // in two pieces: a frame may be cut anywhere
      socket.write(answer.subarray(0, 14));
      setImmediate(() => socket.write(answer.subarray(14)));
    });
  });
  const path = join(folder, 'socket');
  await new Promise<void>((resolve) => server.listen(path, resolve));
  proxy = await WireProxy.start(path);
});

afterEach(async () => {
  for (const socket of open.splice(0)) socket.destroy();
  await proxy[Symbol.asyncDispose]();
  server.close();
  rmSync(folder, { recursive: true });
});

/** A client, the text that it received, and whether it was closed. */
function client(): { socket: Socket; text: string; closed: boolean } {
  const socket = connect(proxy.port, '127.0.0.1');
  const seen = { socket, text: '', closed: false };
  open.push(socket);
  socket.on('error', () => undefined);
  socket.on('data', (bytes) => (seen.text += String(bytes)));
  socket.on('close', () => (seen.closed = true));
  return seen;
}

it('passes everything on without a fault', async () => {
  const one = client();
  one.socket.write('ask');
  await until(() => one.text.includes('row') && one.text.endsWith('I'));
  expect(one.text).toContain('message');
});

it('loses an answer that the server has given, and closes the connection', async () => {
  proxy.loseReplies(() => 'cut');
  const one = client();
  one.socket.write('ask');
  await until(() => one.closed);
  expect(received).toEqual(['ask']);
  expect(one.text).not.toContain('row');
});

it('drops messages only', async () => {
  proxy.dropMessages();
  const one = client();
  one.socket.write('ask');
  await until(() => one.text.endsWith('I'));
  expect(one.text).toContain('row');
  expect(one.text).not.toContain('message');
});

it('delivers a held request after its client has gone', async () => {
  proxy.holdRequests();
  const one = client();
  one.socket.write('late');
  await new Promise<void>((resolve) => one.socket.end(resolve));
  expect(received).toEqual([]);
  await until(() => {
    proxy.heal();
    return received.length > 0;
  });
  expect(received).toEqual(['late']);
});

it('closes a connection that lost bytes, when the fault ends', async () => {
  const [one, idle] = [client(), client()];
  // again, because the fault may end before the bytes reach the proxy
  await until(async () => {
    proxy.blackhole('both');
    one.socket.write('ask');
    await sleep(5);
    proxy.heal();
    return one.closed;
  });
  expect(idle.closed).toBe(false);
});

it('silences the connections that listen, and no others', async () => {
  const [listens, other] = [client(), client()];
  listens.socket.write('LISTEN holdfast_x');
  await until(() => listens.text.endsWith('I'));
  listens.text = '';
  proxy.silenceListening();
  for (const one of [listens, other]) one.socket.write('ask');
  await until(() => other.text.endsWith('I'));
  expect(listens.text).toBe('');
  expect(listens.closed).toBe(false);
});
