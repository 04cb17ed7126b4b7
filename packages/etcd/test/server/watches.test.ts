/** Watches that end, that die silently, and whose history is gone. */
import { randomUUID } from 'node:crypto';
import { startEtcd, until } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import { FaultyFetch } from '../faulty-fetch.js';
import { Gateway } from '../../src/gateway.js';
import { Names } from '../../src/keys.js';
import { Listening } from '../../src/listening.js';
import { settingsOf } from '../../src/options.js';
import { onCluster } from '../support.js';

const test = onCluster();

/** A channel, as a process listens on it, and as others send to it. */
class Channel implements AsyncDisposable {
  readonly faults = new FaultyFetch();
  readonly name = `channel:${randomUUID()}`;
  readonly heard: string[] = [];
  readonly events: string[] = [];
  #watch: { close(): Promise<void> } | undefined;
  #gateway: Gateway | undefined;

  async open(every: number): Promise<this> {
    const settings = settingsOf({ fetch: this.faults.fetch });
    this.#gateway = new Gateway(test.cluster.endpoints, settings);
    this.#watch = await new Listening(this.#gateway, new Names('holdfast/'), every).listen(
      this.name,
      {
        message: (text) => void this.heard.push(text),
        up: () => void this.events.push('up'),
        down: () => void this.events.push('down'),
      },
    );
    return this;
  }

  /** Sends a message, with the swap of a key of its own. */
  async send(text: string): Promise<void> {
    const register = test.register();
    const key = randomUUID();
    const { version } = await register.read(key);
    const messages = [{ channel: this.name, text }];
    await register.swap(key, version, { state: 'x', forgetAt: 1e16, messages });
  }

  async hears(text: string): Promise<void> {
    await until(() => this.heard.includes(text));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watch?.close();
    this.#gateway?.close();
  }
}

const opened = (every = 60_000): Promise<Channel> => new Channel().open(every);

describe('a watch', () => {
  it('that ends is opened again after its last message: none is lost', async () => {
    await using channel = await opened();
    await channel.send('one');
    await channel.hears('one');
    let go: () => void = () => undefined;
    channel.faults.beforeWatch = new Promise((resolve) => (go = resolve));
    channel.faults.cut();
    await until(() => channel.events.includes('down'));
    await channel.send('two');
    go();
    await channel.hears('two');
    expect(channel.heard).toEqual(['one', 'two']);
    expect(channel.events).toEqual(['up', 'down', 'up']);
  });

  it('whose history was compacted begins anew, and later messages arrive', async () => {
    await using channel = await opened();
    await channel.send('one');
    await channel.hears('one');
    let go: () => void = () => undefined;
    channel.faults.beforeWatch = new Promise((resolve) => (go = resolve));
    channel.faults.cut();
    await until(() => channel.events.includes('down'));
    for (const text of ['lost', 'lost too']) await channel.send(text);
    const { header } = await test.request<{ header: { revision: string } }>('kv/range', {
      key: 'YQ==',
    });
    await test.request('kv/compaction', { revision: header.revision });
    go();
    // etcd says that the watch is there, and then that its history is not
    await until(() => channel.events.filter((one) => one === 'up').length === 3);
    await channel.send('two');
    await channel.hears('two');
    expect(channel.heard).toEqual(['one', 'two']);
  });

  it('that dies silently is found by its message to itself', async () => {
    await using channel = await opened(200);
    await channel.send('one');
    await channel.hears('one');
    // some messages to itself arrive
    const echoes = (): number => channel.faults.paths.filter((one) => one === '/v3/kv/put').length;
    await until(() => echoes() > 2);
    expect(channel.events).toEqual(['up']);
    channel.faults.silent = true;
    await until(() => channel.events.includes('down'), { within: 20_000 });
    channel.faults.silent = false;
    await until(() => channel.events.at(-1) === 'up', { within: 20_000 });
    await channel.send('two');
    await channel.hears('two');
  });

  it('of an etcd that was restored from a backup begins anew', async () => {
    await using channel = await opened();
    await channel.send('one');
    await channel.hears('one');
    // the restored one has fewer revisions
    await using restored = await startEtcd();
    channel.faults.to = (url) => url.replace(/^http:..[^/]+/, restored.endpoints[0] as string);
    channel.faults.cut();
    await until(() => channel.events.length >= 3);
    const key = Buffer.from(`holdfast/w/${channel.name}\0x`).toString('base64');
    const value = Buffer.from('["two"]').toString('base64');
    const body = JSON.stringify({ key, value });
    await fetch(`${restored.endpoints[0]}/v3/kv/put`, { method: 'POST', body });
    await channel.hears('two');
  });

  it('that is closed leaves no message behind', async () => {
    const channel = await opened();
    await channel.send('one');
    await channel.hears('one');
    const key = Buffer.from(`holdfast/w/${channel.name}\0`).toString('base64');
    const end = Buffer.from(`holdfast/w/${channel.name}\x01`).toString('base64');
    const left = (): Promise<{ count?: string }> =>
      test.request('kv/range', { key, range_end: end, count_only: true });
    expect(await left()).toMatchObject({ count: '1' });
    await channel[Symbol.asyncDispose]();
    expect((await left()).count).toBeUndefined();
  });

  it('takes no text that was not written by this package', async () => {
    await using channel = await opened();
    for (const value of ['', 'text', '{"a":1}', '[1]']) {
      const key = Buffer.from(`holdfast/w/${channel.name}\0x`).toString('base64');
      await test.request('kv/put', { key, value: Buffer.from(value).toString('base64') });
    }
    await channel.send('one');
    await channel.hears('one');
    expect(channel.heard).toEqual(['one']);
  });
});
