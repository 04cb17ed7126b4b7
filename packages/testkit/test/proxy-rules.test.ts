import { describe, expect, it } from 'vitest';
import { until } from '../src/index.js';
import { named, proxied } from './proxied.js';

const at = proxied();

describe('dropReply', () => {
  it('closes the connection after the server has executed the command', async () => {
    const rule = at.proxy.dropReply(named('SET'));
    const before = at.client.send('PING');
    await expect(at.client.send('SET', 'k', 1)).rejects.toThrow('closed');
    expect(await before).toBe('PONG');
    expect(await at.server.command('GET', 'k')).toBe('1');
    await rule.applied();
    expect(await (await at.connect()).send('SET', 'k', 2)).toBe('OK');
    expect(rule.hits).toBe(1);
  });

  it('drops all later replies on that connection, which heal then closes', async () => {
    const rule = at.proxy.dropReply(named('SET'), { after: 'silence' });
    const lost = [at.client.send('SET', 'k', 1), at.client.send('INCR', 'k')];
    const ends = Promise.allSettled(lost);
    await rule.applied();
    await until(async () => (await at.server.command('GET', 'k')) === '2');
    expect(await (await at.connect()).send('PING')).toBe('PONG');
    expect(at.client.closed).toBe(false);
    expect(at.client.unanswered).toBe(2);
    at.proxy.heal();
    expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  it('delivers later replies with after: continue', async () => {
    at.proxy.dropReply(([, key]) => key === 'a', { times: 2, after: 'continue' });
    void at.client.send('INCR', 'a').catch(() => undefined);
    void at.client.send('INCR', 'a').catch(() => undefined);
    void at.client.send('INCR', 'a').catch(() => undefined);
    await until(() => at.client.unanswered === 2);
    expect(await at.server.command('GET', 'a')).toBe('3');
  });

  it('can be removed', async () => {
    const rule = at.proxy.dropReply(named('GET'));
    rule.remove();
    expect(await at.client.send('GET', 'k')).toBeNull();
  });
});

describe('delayReply', () => {
  it('delays a reply and those after it, in order', async () => {
    const rule = at.proxy.delayReply(named('SET'), 60);
    const start = performance.now();
    const order: string[] = [];
    const note = (what: string) => (): number => order.push(what);
    await Promise.all([
      at.client.send('PING').then(note('ping')),
      at.client.send('SET', 'k', 1).then(note('set')),
      at.client.send('GET', 'k').then(note('get')),
      at.server.command('PING').then(note('other')),
    ]);
    expect(performance.now() - start).toBeGreaterThanOrEqual(59);
    expect(order.slice(2)).toEqual(['set', 'get']);
    rule.remove();
    expect(rule.hits).toBe(1);
  });
});

describe('dropPush', () => {
  it('drops pushes of RESP3, not confirmations', async () => {
    await at.client.send('HELLO', 3);
    const rule = at.proxy.dropPush(([, channel]) => channel === 'lost');
    at.client.write('SUBSCRIBE lost kept\r\n');
    await until(() => at.client.pushes.length === 2);
    await at.server.command('PUBLISH', 'lost', 1);
    await at.server.command('PUBLISH', 'kept', 2);
    await until(() => at.client.pushes.length === 3);
    expect(at.client.pushes[2]).toEqual(['message', 'kept', '2']);
    expect(rule.hits).toBe(1);
  });

  it('drops messages of RESP2', async () => {
    const rule = at.proxy.dropPush(named('PMESSAGE'), { times: 1 });
    expect(await at.client.send('PSUBSCRIBE', 'ch*')).toEqual(['psubscribe', 'ch*', 1]);
    await at.server.command('PUBLISH', 'ch1', 'a');
    await at.server.command('PUBLISH', 'ch2', 'b');
    await until(() => at.client.pushes.length === 1);
    expect(at.client.pushes).toEqual([['pmessage', 'ch*', 'ch2', 'b']]);
    expect(await at.client.send('PING')).toEqual(['pong', '']);
    expect(rule.hits).toBe(1);
  });

  it('does not mistake a list reply for a message', async () => {
    const rule = at.proxy.dropPush(() => true);
    await at.client.send('RPUSH', 'list', 'message', 'a', 'b');
    expect(await at.client.send('LRANGE', 'list', 0, -1)).toEqual(['message', 'a', 'b']);
    expect(rule.hits).toBe(0);
  });
});

describe('holdRequests', () => {
  it('holds commands from the first match on, and forwards them in order', async () => {
    at.proxy.holdRequests(named('SET'));
    expect(await at.client.send('PING')).toBe('PONG');
    const replies = [at.client.send('SET', 'k', 1), at.client.send('INCR', 'k')];
    await until(() => at.proxy.held === 2);
    expect(await at.server.command('EXISTS', 'k')).toBe(0);
    at.proxy.releaseRequests();
    expect(await Promise.all(replies)).toEqual(['OK', 2]);
  });

  it('forwards held commands of a disconnected client', async () => {
    at.proxy.holdRequests();
    const never = at.client.send('SET', 'k', 'late').catch(() => undefined);
    await until(() => at.proxy.held === 1);
    at.client.close();
    await never;
    await until(() => at.proxy.connections === 0);
    at.proxy.releaseRequests();
    await until(async () => (await at.server.command('GET', 'k')) === 'late');
  });
});
