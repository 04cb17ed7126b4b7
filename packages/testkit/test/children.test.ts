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
    // an orphan may remain as a zombie until the container's first process reaps it
    const stat = `/proc/${pid}/stat`;
    return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'));
  } catch {
    return false;
  }
}

describe('spawnWorker', () => {
  it('exchanges messages, and passes arguments and environment', async () => {
    await using worker = spawnWorker(echo, { args: ['a', 'b'], env: { MOOD: 'good' } });
    await worker.next('ready');
    await worker.send({ type: 'hello', n: 1 });
    const hello = { type: 'hello', n: 1, args: ['a', 'b'], mood: 'good' };
    expect(await worker.next('hello')).toEqual(hello);
    expect(worker.messages).toEqual([{ type: 'ready' }, hello]);
  });

  it('returns each message once, in order', async () => {
    await using worker = spawnWorker(echo);
    for (const n of [1, 2, 3]) await worker.send({ type: 'hello', n });
    for (const n of [1, 2, 3]) expect(await worker.next('hello')).toMatchObject({ n });
    await expect(worker.next('hello', { within: 20 })).rejects.toThrow('no message hello');
  });

  it('reports how the worker ended, and rejects pending calls of next', async () => {
    const worker = spawnWorker(echo);
    await worker.next('ready');
    const never = expect(worker.next('never')).rejects.toThrow('the worker ended (3)');
    await worker.send({ type: 'die' });
    expect(await worker.exited).toEqual({ code: 3, signal: null });
    await never;
    await expect(worker.next('later')).rejects.toThrow('the worker ended');
  });

  it('includes the output of a failing worker in the error', async () => {
    const worker = spawnWorker(echo);
    await worker.send({ type: 'fail' });
    await expect(worker.next('never')).rejects.toThrow('failed on request');
  });

  it('kills the worker', async () => {
    const worker = spawnWorker(echo);
    await worker.next('ready');
    worker.kill();
    expect(await worker.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await expect(worker.send({ type: 'hello' })).rejects.toThrow();
  });

  it.skipIf(!built)('ends the processes of a killed parent', async () => {
    const middle = spawnWorker(parent);
    const { server, worker } = (await middle.next('started')) as unknown as Ids;
    expect(alive(server) && alive(worker)).toBe(true);
    middle.kill();
    await middle.exited;
    await until(() => !alive(server) && !alive(worker));
  });
});
