/** The master serves, while no sentinel runs, or after the client's connection to it has ended. */
import { once } from 'node:events';
import { paced, type Replicated, startReplicated, until } from 'holdfast-testkit';
import { Redis as Redis6 } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { createSentinel as createSentinel6 } from 'redis';
import { createSentinel as createSentinel5 } from 'redis-5';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { Holdfast, type RedisClient } from '../../src/index.js';
import { CLIENTS } from '../support/backends.js';
import { openSentinel } from '../support/sentinels.js';
import { freshKey } from '../suites/helpers.js';

const LIMITS = { requestTimeout: paced(1000), unreachableAfter: paced(2000) };

interface Settings {
  readonly username?: string;
  readonly password?: string;
  readonly socket?: { readonly reconnectStrategy: false };
}

const start = (nodeClientOptions: Settings) => ({
  name: deployment.name,
  sentinelRootNodes: deployment.sentinels.map(({ host, port }) => ({ host, port })),
  nodeClientOptions,
});
const KINDS = [
  ['node-redis-5', (settings: Settings) => createSentinel5(start(settings))],
  ['node-redis-6', (settings: Settings) => createSentinel6(start(settings))],
] as const;

let deployment: Replicated;
beforeEach(async () => {
  // no fail-over belongs to these tests
  deployment = await startReplicated({ server: 'redis', replicas: 0, downAfter: 60_000 });
}, paced(60_000));
afterEach(() => deployment.stop());

function instance(client: RedisClient): Holdfast {
  const holdfast = new Holdfast(client, LIMITS);
  onTestFinished(() => holdfast.close({ grace: 0 }));
  return holdfast;
}

function works(holdfast: Holdfast): Promise<boolean> {
  const attempt = holdfast.mutex('second').run(() => true);
  return attempt.catch(() => false);
}

it.each(CLIENTS)('no sentinel runs: locks of %s work, and wake-ups arrive', async (kind) => {
  const opened = await openSentinel(kind, deployment);
  onTestFinished(() => opened.close());
  const holdfast = instance(opened.client);
  const lease = await holdfast.mutex('held').acquire();
  // ioredis asks sentinels only when it connects
  const looksAgain = kind.startsWith('node');
  const looks = looksAgain && once(opened.client as unknown as NodeJS.EventEmitter, 'error');
  for (const sentinel of deployment.sentinels) await sentinel.kill();
  await looks;
  expect(await holdfast.mutex('other').run(() => 'done')).toBe('done');
  if (looksAgain) expect(await holdfast.ready()).toMatchObject({ pushes: true });
  expect(await lease.release()).toBe('freed');
});

it.each(KINDS)('%s connects again after its connection ended for good', async (_, create) => {
  const client = create({ socket: { reconnectStrategy: false } });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => void client.destroy());
  const holdfast = instance(client);
  await holdfast.mutex('first').run(() => undefined);
  const master = await deployment.master();
  await master.command('CLIENT', 'KILL', 'TYPE', 'normal');
  await until(() => works(holdfast), { within: paced(20_000) });
});

it.each(KINDS)('%s: the error names the reason if the password was replaced', async (_, create) => {
  const client = create({ username: 'locks', password: 'old' });
  client.on('error', () => undefined);
  const master = await deployment.master();
  await master.command('ACL', 'SETUSER', 'locks', 'on', '>old', '~*', '&*', '+@all');
  await client.connect();
  onTestFinished(() => void client.destroy());
  const holdfast = instance(client);
  const lease = await holdfast.mutex('first').acquire();
  await master.command('ACL', 'SETUSER', 'locks', 'resetpass', '>new');
  expect(await lease.verify()).toBe(true);
  await master.command('CLIENT', 'KILL', 'USER', 'locks');
  const refused = async (): Promise<boolean> => {
    const attempt = holdfast.mutex(freshKey()).tryAcquire();
    const error: unknown = await attempt.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (error !== undefined) expect(error).toMatchObject({ code: 'HOLDFAST_UNREACHABLE' });
    return String(error).includes('WRONGPASS');
  };
  await until(refused, { within: paced(20_000) });
  await master.command('ACL', 'SETUSER', 'locks', 'resetpass', '>old');
  await until(() => works(holdfast), { within: paced(20_000) });
});

interface BySentinels {
  readonly sentinels: { readonly host: string; readonly port: number }[];
  readonly name: string;
}
it.each([
  ['ioredis-5', (settings: BySentinels) => new Redis5(settings)],
  ['ioredis-6', (settings: BySentinels) => new Redis6(settings)],
] as const)(
  '%s: the error names the master, not an address that is not used',
  async (_, create) => {
    await Promise.all(deployment.sentinels.map((sentinel) => sentinel.kill()));
    const sentinels = deployment.sentinels.map(({ host, port }) => ({ host, port }));
    const client = create({ sentinels, name: 'locks' });
    client.on('error', () => undefined);
    onTestFinished(() => client.disconnect());
    const attempt = instance(client).mutex(freshKey()).tryAcquire();
    await expect(attempt).rejects.toMatchObject({
      code: 'HOLDFAST_UNREACHABLE',
      message: expect.stringMatching(/the client is in state "\w+" \(master "locks"\)/),
    });
  },
);
