/** Main module of a worker's process. It executes the demo's messages and exits with the demo. */
import type { Step, ToDemo, ToWorker } from './messages.js';
import { type Connection, connect } from './connection.js';
import type { Access } from '../resource.js';
import { now } from '../time.js';
import { runTask, type TaskContext } from '../task.js';

const name = process.argv[2] ?? 'worker';
let connection: Connection | undefined;
let proceed: () => void = () => undefined;
let calls = 0;
const open = new Map<number, (result: number) => void>();

function send(message: ToDemo): void {
  if (process.connected) process.send?.(message);
}

/** Calls the resource, which is in the demo's process. */
function call(step: Step): Promise<number> {
  calls += 1;
  const number = calls;
  send({ type: 'call', call: number, step });
  return new Promise((resolve) => open.set(number, resolve));
}

const resource: Access = {
  enter: async () => void (await call({ do: 'enter' })),
  leave: async () => void (await call({ do: 'leave' })),
  write: (fence) => call({ do: 'write', fence }),
};

function taskContext(): TaskContext {
  const proceeded = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  return {
    resource,
    report: (body) => send({ type: 'report', body, at: now() }),
    untilProceed: () => proceeded,
  };
}

async function onMessage(message: ToWorker): Promise<void> {
  switch (message.type) {
    case 'connect':
      connection = await connect(message.url, message.prefix, name);
      return send({ type: 'ready' });
    case 'start':
      if (connection) await runTask(connection.holdfast, message.task, taskContext());
      return undefined;
    case 'proceed':
      return proceed();
    case 'answer':
      open.get(message.call)?.(message.result);
      open.delete(message.call);
      return undefined;
    case 'close':
      return leave();
  }
}

async function leave(): Promise<void> {
  await connection?.close().catch(() => undefined);
  process.exit();
}

// Ctrl-C reaches all processes of the terminal; workers ignore it and wait for the demo's message
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => void leave());
process.on('message', (message) => {
  onMessage(message as ToWorker).catch(() => process.exit(1));
});
