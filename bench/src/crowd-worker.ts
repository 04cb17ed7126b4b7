/** One worker process of the crowd benchmark: its tasks acquire the lock in turn until `stop`. */
import { EventEmitter } from 'node:events';
import { argv } from 'node:process';
import { Holdfast } from 'holdfast';
import { type ClientName, connect } from './clients.js';

const [client, port, tasks, mode] = argv.slice(2) as [ClientName, string, string, string];

const now = (): number => Number(process.hrtime.bigint() / 1000n);

const send = (message: object): void => void process.send?.(message);

const bare = await connect(client, Number(port));
const holdfast = new Holdfast(bare.client);
const mutex = holdfast.mutex('crowd', { fair: mode === 'fair' });
const turns: [fence: number, from: number, until: number][] = [];
const stop = new AbortController();

async function task(): Promise<void> {
  while (!stop.signal.aborted) {
    const lease = await mutex.acquire({ signal: stop.signal });
    const from = now();
    const until = now();
    turns.push([lease.fence, from, until]);
    await lease.release();
  }
}

async function work(): Promise<void> {
  await Promise.allSettled(Array.from({ length: Number(tasks) }, task));
  await holdfast.close();
  await bare.close();
  send({ type: 'turns', turns });
}

process.on('message', ({ type }: { type: string }) => {
  if (type === 'start') void work();
  if (type === 'stop') stop.abort();
});
// one listener for each waiter is expected here: it is not a leak
EventEmitter.setMaxListeners(0, stop.signal);
send({ type: 'ready' });
