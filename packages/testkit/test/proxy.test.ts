import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { startProxy, until } from '../src/index.js';
import { named, proxied } from './proxied.js';

const at = proxied();

describe('without rules', () => {
  it('forwards everything, and counts commands', async () => {
    expect(await at.client.send('SET', 'k', 'v')).toBe('OK');
    expect(await at.client.send('get', 'k')).toBe('v');
    expect(at.proxy.count('GET')).toBe(1);
    expect(at.proxy.log.map(({ command }) => command)).toEqual([
      ['SET', 'k', 'v'],
      ['get', 'k'],
    ]);
    at.proxy.clearLog();
    expect(at.proxy.count('get')).toBe(0);
  });

  it('pairs pipelined commands, errors and subscriptions with their replies', async () => {
    await at.client.send('HELLO', 3);
    const rule = at.proxy.dropReply(named('GET'), { after: 'continue' });
    const all = [
      at.client.send('INCR', 'n'),
      at.client.send('WRONG'),
      at.client.send('MULTI'),
      at.client.send('INCR', 'n'),
      at.client.send('EXEC'),
    ];
    at.client.write('SUBSCRIBE a b\r\nGET n\r\nUNSUBSCRIBE\r\n');
    await Promise.allSettled(all);
    expect(await all[4]).toEqual([2]);
    expect(await at.client.send('PING')).toBe('PONG');
    expect(at.client.pushes).toEqual([
      ['subscribe', 'a', 1],
      ['subscribe', 'b', 2],
      ['unsubscribe', expect.any(String), 1],
      ['unsubscribe', expect.any(String), 0],
    ]);
    expect(rule.hits).toBe(1);
  });

  it('delivers big values completely to a slow reader', async () => {
    const big = 'x'.repeat(16_000_000);
    expect(await at.client.send('SET', 'big', big)).toBe('OK');
    const id = Number(await at.client.send('CLIENT', 'ID'));
    at.client.pauseReading();
    const replies = [at.client.send('GET', 'big'), at.client.send('GET', 'big')];
    // the proxy reads only as much as it can forward: the rest waits in the server
    await until(async () => {
      const line = String(await at.server.command('CLIENT', 'LIST', 'ID', id));
      return line.includes('cmd=get') && Number(/ omem=(\d+)/.exec(line)?.[1]) > 16_000_000;
    });
    at.client.resumeReading();
    expect((await Promise.all(replies)).every((reply) => reply === big)).toBe(true);
  });

  it('forwards the close of either side', async () => {
    const id = await at.client.send('CLIENT', 'ID');
    await at.server.command('CLIENT', 'KILL', 'ID', Number(id));
    await until(() => at.client.closed);
    const other = await at.connect();
    const its = await other.send('CLIENT', 'ID');
    other.close();
    await until(async () => (await at.server.command('CLIENT', 'LIST', 'ID', Number(its))) === '');
    await until(() => at.proxy.connections === 0);
  });

  it('survives a stopped server, and works again after its restart', async () => {
    await at.server.kill();
    await until(() => at.client.closed);
    const early = await at.connect();
    await until(() => early.closed);
    await at.server.restart();
    expect(await (await at.connect()).send('PING')).toBe('PONG');
  });
});

describe('connections', () => {
  it('are all closed by cut', async () => {
    const other = await at.connect();
    await until(() => at.proxy.connections === 2);
    at.proxy.cut();
    await until(() => at.client.closed && other.closed);
    expect(await (await at.connect()).send('PING')).toBe('PONG');
  });

  it('are reset after refuse when new', async () => {
    expect(await at.client.send('PING')).toBe('PONG');
    at.proxy.refuse();
    const refused = await at.connect().catch(() => undefined);
    if (refused !== undefined) await until(() => refused.closed);
    expect(await at.client.send('PING')).toBe('PONG');
    at.proxy.heal();
    expect(await (await at.connect()).send('PING')).toBe('PONG');
  });
});

it('closes a connection with an unknown protocol, and records the problem', async () => {
  const stranger = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
  });
  await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
  const { port } = stranger.address() as { port: number };
  await using odd = await startProxy({ host: '127.0.0.1', port });
  const lost = await at.connect(odd);
  await until(() => lost.closed);
  expect(odd.problems.map(String)).toEqual(['FrameError: unknown RESP type: "H"']);
  stranger.close();
});
