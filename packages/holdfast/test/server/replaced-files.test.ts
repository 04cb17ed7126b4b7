/** A process whose files are gone while it holds a lease: renewal, release and loss go on. */
import { cpSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { spawnWorker, startServer } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import { freshKey } from '../suites/helpers.js';

it('without its files a process keeps its leases, and goes on with every feature', async () => {
  await using server = await startServer({ server: 'redis' });
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
    expect(done['calls']).toEqual({
      latch: 0,
      allOf: 'freed',
      schedule: true,
      forceRelease: { ended: 0, overlap: 0 },
      list: true,
      health: 'ok',
    });
    // the control: the files are gone
    expect(done['notLoaded']).toBe('ERR_MODULE_NOT_FOUND');
    expect(await worker.exited).toEqual({ code: 0, signal: null });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
