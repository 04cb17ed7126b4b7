import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { spawnWorker, until } from '../src/index.js';

const echo = new URL('./workers/echo.mjs', import.meta.url);
const parent = new URL('./workers/parent.mjs', import.meta.url);
const built = existsSync(new URL('../dist/index.js', import.meta.url));

interface Ids {
  server: number;
  worker: number;
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // an orphan may stay as a zombie for as long as the container's first process does not care
    const stat = `/proc/${pid}/stat`;
    return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'));
  } catch {
    return false;
  }
}

describe('spawnWorker', () => {
  it('talks both ways, with arguments and environment', async () => {
    await using worker = spawnWorker(echo, { args: ['a', 'b'], env: { MOOD: 'good' } });
    await worker.next('ready');
    await worker.send({ type: 'hello', n: 1 });
    const hello = { type: 'hello', n: 1, args: ['a', 'b'], mood: 'good' };
    expect(await worker.next('hello')).toEqual(hello);
    expect(worker.messages).toEqual([{ type: 'ready' }, hello]);
  });

  it('gives each message once, in order', async () => {
    await using worker = spawnWorker(echo);
    for (const n of [1, 2, 3]) await worker.send({ type: 'hello', n });
    for (const n of [1, 2, 3]) expect(await worker.next('hello')).toMatchObject({ n });
    await expect(worker.next('hello', { within: 20 })).rejects.toThrow('no message hello');
  });

  it('tells how it ended, and rejects what still waits', async () => {
    const worker = spawnWorker(echo);
    await worker.next('ready');
    const never = expect(worker.next('never')).rejects.toThrow('the worker ended (3)');
    await worker.send({ type: 'die' });
    expect(await worker.exited).toEqual({ code: 3, signal: null });
    await never;
    await expect(worker.next('later')).rejects.toThrow('the worker ended');
  });

  it('shows what a failing worker wrote', async () => {
    const worker = spawnWorker(echo);
    await worker.send({ type: 'fail' });
    await expect(worker.next('never')).rejects.toThrow('as it was told');
  });

  it('kills', async () => {
    const worker = spawnWorker(echo);
    await worker.next('ready');
    worker.kill();
    expect(await worker.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await expect(worker.send({ type: 'hello' })).rejects.toThrow();
  });

  it.skipIf(!built)('leaves nothing behind when its parent is killed', async () => {
    const middle = spawnWorker(parent);
    const { server, worker } = (await middle.next('started')) as unknown as Ids;
    expect(alive(server) && alive(worker)).toBe(true);
    middle.kill();
    await middle.exited;
    await until(() => !alive(server) && !alive(worker));
  });
});
