/** The process of one worker. It does what the demo tells it, and ends when the demo is gone. */
import type { Step, ToDemo, ToWorker } from './crew/messages.js';
import { type Connection, connect } from './crew/redis.js';
import type { Access } from './resource.js';
import { now } from './time.js';
import { perform, type Surroundings } from './work.js';

const name = process.argv[2] ?? 'worker';
let connection: Connection | undefined;
let proceed: () => void = () => undefined;
let calls = 0;
const open = new Map<number, (result: number) => void>();

function say(message: ToDemo): void {
  if (process.connected) process.send?.(message);
}

/** The resource lives in the demo's process: each step goes there and back. */
function call(step: Step): Promise<number> {
  calls += 1;
  const number = calls;
  say({ say: 'call', call: number, step });
  return new Promise((resolve) => open.set(number, resolve));
}

const resource: Access = {
  enter: async () => void (await call({ do: 'enter' })),
  leave: async () => void (await call({ do: 'leave' })),
  write: (fence) => call({ do: 'write', fence }),
};

function surroundings(): Surroundings {
  const told = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  return {
    resource,
    tell: (news) => say({ say: 'news', news, at: now() }),
    word: () => told,
  };
}

async function hear(message: ToWorker): Promise<void> {
  switch (message.say) {
    case 'hello':
      connection = await connect(message.url, message.prefix, name);
      return say({ say: 'ready' });
    case 'start':
      if (connection) await perform(connection.holdfast, message.task, surroundings());
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

// Ctrl-C goes to all processes of the terminal; the demo tells its workers what to do
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => void leave());
process.on('message', (message) => {
  hear(message as ToWorker).catch(() => process.exit(1));
});
