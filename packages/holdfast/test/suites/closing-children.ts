/** Child processes: they end by themselves after `close`, and hand over on SIGTERM. */
import { spawnWorker, until, type Worker } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import type { Backend } from '../support/backends.js';
import { freshKey, queued } from './helpers.js';

/** Starts a child that uses the same backend. */
function child(backend: Backend, program: string, key: string): Worker {
  const { store, client, protocol } = backend;
  const port = store === 'memory' ? 0 : backend.admin.port;
  const setting = JSON.stringify({ client: client ?? 'memory', port, protocol, key });
  return spawnWorker(new URL(`../children/${program}.mjs`, import.meta.url), { args: [setting] });
}

export function closingChildren(backend: Backend): void {
  it('ends by itself after it has acquired, waited, and closed', async () => {
    await using worker = child(backend, 'closes', freshKey());
    // checks that the connections existed, so that their absence after `close` proves something
    await worker.next('contended');
    expect(await worker.next('closed')).toMatchObject({ timers: 0 });
    expect(await worker.exited).toEqual({ code: 0, signal: null });
  });

  if (backend.store !== 'redis') return;

  it('that does not close ends by itself, while its wake connections are open', async () => {
    await using worker = child(backend, 'stays', freshKey());
    await worker.next('done');
    expect(await worker.exited).toEqual({ code: 0, signal: null });
  });

  it('hands its lock over on SIGTERM, and dies of the signal', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    await using worker = child(backend, 'holds', key);
    const { fence } = await worker.next('holds');
    // the lease would last for another minute
    const waiting = holdfast.mutex(key).acquire();
    await queued(holdfast, key, 1);
    worker.kill('SIGTERM');
    const lease = await waiting;
    expect(lease.fence).toBeGreaterThan(fence as number);
    expect(await worker.exited).toEqual({ code: null, signal: 'SIGTERM' });
    expect(worker.messages.map(({ type }) => type)).toEqual(['holds', 'aborted']);
  });

  it('lets its work end within the grace before it dies', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    await using worker = child(backend, 'finishes', key);
    await worker.next('holds');
    const waiting = holdfast.mutex(key).acquire();
    await queued(holdfast, key, 1);
    worker.kill('SIGTERM');
    await worker.next('closing');
    expect((await holdfast.inspect(key))?.holders[0]?.pid).toBe(worker.pid);
    await worker.send({ type: 'finish' });
    expect((await waiting).held).toBe(true);
    expect(await worker.exited).toEqual({ code: null, signal: 'SIGTERM' });
    expect(worker.messages.map(({ type }) => type)).toEqual(['holds', 'closing', 'finished']);
  });
}

/** Their connection for messages keeps no process running. */
export function endingChildren(backend: Backend, program: () => readonly unknown[]): void {
  const start = (key: string, waits: boolean): Worker => {
    const setting = JSON.stringify({ program: program(), key, waits });
    return spawnWorker(new URL('../children/ends.mjs', import.meta.url), { args: [setting] });
  };

  it('exits with a lock in its hand, and its lease ends', async () => {
    const key = freshKey();
    await using worker = start(key, false);
    await worker.next('listens');
    expect(await worker.exited).toEqual({ code: 0, signal: null });
    const holdfast = await backend.make();
    await (await holdfast.mutex(key).acquire()).release();
  });

  it('keeps running while it waits for a lock, until it has it', async () => {
    const holder = await backend.make();
    const key = freshKey();
    const lease = await holder.mutex(key).acquire();
    await using worker = start(key, true);
    await until(async () => (await holder.inspect(key))?.waiterCount === 1);
    for (let looks = 0; looks < 10; looks += 1) await worker.next('listens');
    await lease.release();
    await worker.next('granted');
  });
}
