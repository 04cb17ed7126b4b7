/** `fencedSet` on real servers, with each client. */
import type { Server } from 'holdfast-testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import { fencedSet } from '../../src/fence.js';
import {
  CLIENTS,
  openClient,
  SERVERS,
  serverOf,
  stopServersAfterwards,
} from '../support/backends.js';

stopServersAfterwards();

describe.each(SERVERS)('%s', (name) => {
  let server: Server;
  beforeAll(async () => {
    server = await serverOf(name);
  });

  it.each(CLIENTS)('refuses a smaller fence: %s', async (kind) => {
    const opened = await openClient(kind, { host: server.host, port: server.port });
    const key = `value ${kind}`;
    const write = (value: string, fence: number): Promise<boolean> =>
      fencedSet(opened.client, key, value, fence);
    expect(await write('a', 2 ** 52)).toBe(true);
    expect(await write('b', 2 ** 52)).toBe(true);
    expect(await write('late', 2 ** 52 - 1)).toBe(false);
    expect(await write('c', 2 ** 52 + 1)).toBe(true);
    expect(await server.command('HGET', key, 'value')).toBe('c');
    expect(await server.command('HGET', key, 'fence')).toBe(`${2 ** 52 + 1}`);
    for (const bad of [-1, 1.5, Number.NaN, 2 ** 53, '7'])
      await expect(write('x', bad as number)).rejects.toMatchObject({ option: 'fence' });
    await server.command('SET', 'text', 'no hash');
    await expect(fencedSet(opened.client, 'text', 'x', 1)).rejects.toMatchObject({
      code: 'HOLDFAST_REFUSED',
    });
    await opened.close();
  });
});
