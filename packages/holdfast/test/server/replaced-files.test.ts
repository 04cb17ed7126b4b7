/** A process whose files are gone while it holds a lease: renewal, release and loss go on. */
import { cpSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { spawnWorker, startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { Holdfast } from '../../src/index.js';
import { freshKey } from '../suites/helpers.js';

it('without its files a process keeps its leases, and names what it cannot load', async () => {
  await using server = await startServer({ server: 'redis' });
  // the server knows the script of an acquisition, so the process needs no text for its own
  const client = new Redis({ host: server.host, port: server.port });
  const holdfast = new Holdfast(client);
  await holdfast.mutex(freshKey()).run(() => undefined);
  await holdfast.close();
  client.disconnect();

  const folder = await mkdtemp(join(tmpdir(), 'holdfast-replaced-'));
  try {
    const copy = `${folder}/dist/`;
    await writeFile(`${folder}/package.json`, '{ "type": "module" }');
    cpSync(fileURLToPath(new URL('../../dist', import.meta.url)), copy, { recursive: true });
    await using worker = spawnWorker(new URL('../children/replaced.mjs', import.meta.url), {
      args: [
        JSON.stringify({ port: server.port, key: freshKey(), copy: pathToFileURL(copy).href }),
      ],
    });
    const done = await worker.next('done', { within: 25_000 });
    expect(done).toMatchObject({ released: 'freed', loss: 'HOLDFAST_LOST' });
    const calls = ['latch', 'allOf', 'schedule', 'forceRelease', 'list', 'doctor'];
    const notLoaded = {
      code: 'HOLDFAST_UNREACHABLE',
      message: expect.stringMatching(
        /the code of this call was not loaded: .+, restart it \(see /s,
      ),
      cause: 'ERR_MODULE_NOT_FOUND',
    };
    expect(done['gone']).toEqual(Object.fromEntries(calls.map((call) => [call, notLoaded])));
    expect(done['health']).toEqual({
      status: 'down',
      problems: [expect.stringContaining('restart it')],
    });
    expect(await worker.exited).toEqual({ code: 0, signal: null });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
