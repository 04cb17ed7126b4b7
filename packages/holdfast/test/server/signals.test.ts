/** `closeOnSignals` of several instances, and beside handlers of the program. */
import { sleep, spawnWorker, type Worker } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';

const program = new URL('../children/signals.mjs', import.meta.url);

async function started(own: string): Promise<Worker> {
  const worker = spawnWorker(program, { args: [JSON.stringify({ key: own })] });
  await worker.next('holds');
  return worker;
}

describe('SIGTERM', () => {
  it('ends the process when all instances are closed', async () => {
    await using worker = await started('none');
    worker.kill('SIGTERM');
    // the first instance has closed at once
    await sleep(50);
    await worker.send({ type: 'finish' });
    expect(await worker.next('finishing')).toMatchObject({ held: true });
    expect(await worker.exited).toEqual({ code: null, signal: 'SIGTERM' });
  });

  it.each(['one closes', 'both close'])(
    'ends the process when instances are closed that closed before: %s',
    async (own) => {
      await using worker = await started(own);
      worker.kill('SIGTERM');
      await sleep(50);
      await worker.send({ type: 'finish' });
      expect(await worker.next('finishing')).toMatchObject({ held: true, listeners: 0 });
      await worker.next('released');
      expect(await worker.exited).toEqual({ code: null, signal: 'SIGTERM' });
    },
  );

  it('has one handler of all instances, also of another copy of the library', async () => {
    await using worker = await started('many');
    expect(await worker.next('listens')).toMatchObject({ listeners: 1 });
    worker.kill('SIGTERM');
    await sleep(50);
    await worker.send({ type: 'finish' });
    await worker.next('released');
    expect(await worker.exited).toEqual({ code: null, signal: 'SIGTERM' });
  });

  it.each(['on', 'once', 'once before'])(
    'leaves the end to the handler of the program: %s',
    async (own) => {
      await using worker = await started(own);
      worker.kill('SIGTERM');
      await worker.next('shutdown');
      await worker.send({ type: 'finish' });
      await worker.next('ready');
      expect(await worker.exited).toEqual({ code: 7, signal: null });
    },
  );

  it('ends the process at once, if it comes again during the close', async () => {
    await using worker = await started('none');
    worker.kill('SIGTERM');
    await sleep(50);
    worker.kill('SIGTERM');
    expect(await worker.exited).toEqual({ code: null, signal: 'SIGTERM' });
    expect(worker.messages.map(({ type }) => type)).toEqual(['holds']);
  });
});
