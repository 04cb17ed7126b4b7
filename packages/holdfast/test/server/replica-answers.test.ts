/**
 * An address that leads to a replica which does not know the lock: it must not answer for the
 * master. No call says that a lock is lost, free or taken because of its answer.
 */
import { Redis } from 'ioredis';
import { paced, type Server, startProxy, startServer, until } from 'holdfast-testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KeyCommand } from '../../src/engine/commands.js';
import { Holdfast } from '../../src/index.js';
import { portFor } from '../../src/store/clients/detect.js';
import type { StoreFailure } from '../../src/store/port.js';
import { RedisStore } from '../../src/store/redis/redis-store.js';
import { free, take } from '../support/cluster-store.js';
import { failure, freshKey } from '../suites/helpers.js';

const NAMES = ['redis', 'valkey'] as const;
const terms = { ttl: 1000, retention: 1000 };
const about = { ...terms, channel: '', token: '' };
const gate = { key: 'g', kind: 'latch', count: 1, generation: 1, ...terms } as const;

/** One command of each kind that may change a record. */
const COMMANDS: readonly KeyCommand[] = [
  take('k'),
  free('k', 'a'),
  { op: 'renew', key: 'k', id: 'k', ...terms },
  { op: 'poll', key: 'k', ids: ['k'], patience: 1000, retention: 1000 },
  { op: 'forceRelease', key: 'k', id: '', retention: 1000 },
  { op: 'resize', key: 'k', id: 'k', weight: 2, seq: 1, retention: 1000 },
  { op: 'capacity', key: 'k', from: 1, capacity: 2, retention: 1000 },
  { op: 'signal', key: 'k', id: 'k', condition: 'c', count: 1, seq: 1, retention: 1000 },
  {
    ...{ op: 'park', key: 'k', id: 'k', as: 'l', condition: 'c', want: 'signal', claim: 100 },
    ...{ fair: false, maxParked: 1, patience: 1000, meta: '', ...about },
  },
  {
    ...{ op: 'turn', key: 'k', id: 'k', fence: 1, used: 1, again: '', claim: 100, handOffs: 1 },
    ...{ waited: 0, tasks: 0, patience: 1000, meta: '', ...about },
  },
  { op: 'arrive', ...gate, channel: '', token: '', id: 'k', by: 1 },
  { op: 'watch', ...gate, channel: '', token: '', ids: [] },
  { op: 'endGeneration', ...gate, reason: 'reset' },
];

describe.each(NAMES)('%s', (name) => {
  let main: Server;
  let lagging: Server;
  let empty: Server;
  beforeAll(async () => {
    main = await startServer({ server: name, args: ['--repl-diskless-sync-delay', '0'] });
    lagging = await startServer({
      server: name,
      args: ['--replicaof', main.host, `${main.port}`],
    });
    // its master does not exist
    empty = await startServer({ server: name, args: ['--replicaof', '127.0.0.1', '1'] });
    const online = async (): Promise<boolean> =>
      String(await lagging.command('INFO')).includes('link_status:up');
    await until(online, { within: 15_000 });
  }, 30_000);
  afterAll(async () => {
    for (const server of [empty, lagging, main]) await server[Symbol.asyncDispose]();
  });

  it.each(COMMANDS.map((command) => [command.op, command] as const))(
    '%s is refused by a replica without the record, and answered by a master (control)',
    async (_, command) => {
      const [replica, master] = [new Redis(empty.url), new Redis(main.url)];
      for (const client of [replica, master]) await client.ping();
      const answers = [replica, master].map((client) =>
        Promise.all(new RedisStore(portFor(client), freshKey()).execute([command])),
      ) as [Promise<unknown[]>, Promise<unknown[]>];
      const refused = (await answers[0].catch((error: unknown) => error)) as StoreFailure;
      expect([refused.kind, refused.message]).toEqual([
        'transient',
        expect.stringMatching(/^READONLY/),
      ]);
      expect(await answers[1]).toHaveLength(1);
      replica.disconnect();
      master.disconnect();
    },
  );

  it('an attempt for a lock that a replica knows as taken is not refused by it', async () => {
    const [client, other] = [new Redis(main.url), new Redis(lagging.url)];
    const [holdfast, stranger] = [client, other].map(
      (one) => new Holdfast(one, { requestTimeout: paced(1000), unreachableAfter: paced(1000) }),
    ) as [Holdfast, Holdfast];
    const key = freshKey();
    const lease = await holdfast.mutex(key).acquire();
    await until(() => stranger.mutex(key).isLocked());
    await failure(stranger.mutex(key).tryAcquire(), 'HOLDFAST_UNREACHABLE');
    await lease.release();
    await Promise.all([holdfast.close(), stranger.close({ grace: 0 })]);
    for (const one of [client, other]) one.disconnect();
  });

  it('a release whose address leads to an empty replica says neither freed nor lost', async () => {
    await using proxy = await startProxy(main);
    const client = new Redis(proxy.url, { retryStrategy: () => 10 });
    client.on('error', () => undefined);
    const options = { ttl: 60_000, requestTimeout: paced(1000), unreachableAfter: paced(1000) };
    const holdfast = new Holdfast(client, options);
    const witness = new Redis(main.url);
    const observer = new Holdfast(witness);
    const [released, extended, forced] = [freshKey(), freshKey(), freshKey()];
    const first = await holdfast.mutex(released).acquire();
    const second = await holdfast.mutex(extended).acquire();
    const held = await observer.mutex(forced).acquire();
    proxy.redirect(empty);
    proxy.cut();
    await failure(first.release(), 'HOLDFAST_UNCERTAIN');
    await expect(second.extend(60_000)).rejects.not.toMatchObject({ code: 'HOLDFAST_LOST' });
    expect(second.held).toBe(true);
    await expect(holdfast.forceRelease(forced)).rejects.toMatchObject({
      code: expect.stringMatching(/^HOLDFAST_(UNREACHABLE|UNCERTAIN)$/),
    });
    expect(held.held).toBe(true);
    // the release is repeated until the master answers
    proxy.redirect(main);
    proxy.cut();
    await until(async () => !(await observer.mutex(released).isLocked()), { within: 15_000 });
    await second.release();
    await held.release();
    await Promise.all([holdfast.close(), observer.close()]);
    for (const one of [client, witness]) one.disconnect();
  });
});
