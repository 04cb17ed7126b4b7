/** Faults that some machines do not allow; there, the tests return early. */
import { createServer } from 'node:net';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { makeClockShim, makeHost, startServer, until } from '../src/index.js';

const run = promisify(execFile);

it("steps a server's wall clock, and not this process's", async () => {
  const clock = await makeClockShim();
  if (clock === undefined) return;
  await using server = await startServer({ server: 'redis', env: clock.env });
  const seconds = async (): Promise<number> =>
    Number(((await server.command('TIME')) as string[])[0]);
  expect(Math.abs((await seconds()) - Date.now() / 1000)).toBeLessThan(5);
  await server.command('SET', 'k', 'v', 'PX', 60_000);
  clock.step(3_600_000);
  expect((await seconds()) - Date.now() / 1000).toBeGreaterThan(3500);
  expect(await server.command('GET', 'k')).toBe(null);
  clock.step(-3_600_000);
  expect((await seconds()) - Date.now() / 1000).toBeLessThan(-3500);
});

it('restarts a server with extra arguments and its saved data', async () => {
  await using server = await startServer({ server: 'redis', args: ['--appendonly', 'yes'] });
  await server.command('SET', 'k', 'v');
  await server.restart({ args: ['--maxclients', '77'] });
  expect(await server.command('GET', 'k')).toBe('v');
  expect(await server.command('CONFIG', 'GET', 'maxclients')).toEqual(['maxclients', '77']);
});

it('cuts the link of a host in one direction', async () => {
  const host = await makeHost(1);
  const wire = host?.wires[0];
  if (host === undefined || wire === undefined) return;
  let connected = 0;
  const listener = createServer((socket) => {
    connected += 1;
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => listener.listen(0, wire.address, resolve));
  const { port } = listener.address() as { port: number };
  const script = `
    const socket = require('node:net').connect(${port}, '${wire.address}');
    socket.on('connect', () => process.exit(0));
    setTimeout(() => process.exit(7), 700);`;
  const [command = '', ...words] = host.prefix;
  const tries = (): Promise<unknown> => run(command, [...words, process.execPath, '-e', script]);
  try {
    await tries();
    expect(connected).toBe(1);
    await wire.cut('requests');
    await expect(tries()).rejects.toMatchObject({ code: 7 });
    await wire.heal();
    await wire.cut('replies');
    await expect(tries()).rejects.toMatchObject({ code: 7 });
    await wire.heal();
    await tries();
    await until(() => connected >= 2);
  } finally {
    listener.close();
    await host[Symbol.asyncDispose]();
  }
});
