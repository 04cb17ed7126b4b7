/**
 * Whether a client's connection has died silently.
 *
 *     no answer --a new connection is answered twice, the client not--> dead
 *         \--the client is answered, or the new connection is not--> another reason
 *
 * A client that waits for a blocking command looks the same. The head of ioredis' queue tells: a
 * script blocks nothing, so the connection is ended, and the client connects again. node-redis
 * shows neither, so its program is told.
 */
import { type Line, openLine } from './line.js';
import type { ClientPort } from './port.js';

const ANSWER_MS = 1000;
/** The time between the answers of a new connection: older ones arrive before the second. */
const BETWEEN_MS = 200;
/** CLIENT PAUSE delays it, as the scripts of locks. */
const PROBE = ['EVAL', 'return 1', '0'];
const BUT = 'the client has no answer, while a new connection to the same server is answered';

interface Ioredis {
  readonly status: string;
  readonly stream?: { readonly bytesRead: number };
  readonly commandQueue?: { peekFront?(): { readonly command?: { readonly name?: string } } };
  disconnect(reconnect: boolean): void;
}

interface NodeRedis {
  sendCommand(words: readonly string[], options: object): Promise<unknown>;
}

/** In ms; does not keep the process alive. */
export type Pause = (ms: number) => Promise<void>;

/** See `SilencePart.endSilence`. */
export async function endSilence(port: ClientPort, pause: Pause): Promise<string | undefined> {
  if (port.state() !== undefined) return undefined;
  try {
    const of = port.name === 'ioredis' ? ofIoredis : ofNodeRedis;
    return await of(port, pause);
  } catch {
    // the server does not answer either
    return undefined;
  }
}

async function ofIoredis(port: ClientPort, pause: Pause): Promise<string | undefined> {
  const client = port.client as Ioredis;
  const { stream } = client;
  const head = oldest(client);
  if (stream === undefined || !/^eval(sha)?$/i.test(head?.name ?? '')) return undefined;
  const { bytesRead } = stream;
  await probe(port, pause);
  const same = client.stream === stream && stream.bytesRead === bytesRead;
  // a client that was told to end while it asks its sentinels ends for good
  if (!same || oldest(client) !== head || client.status !== 'ready') return undefined;
  client.disconnect(true);
  return `${BUT}: its connection has died silently. It was ended, and the client connects again`;
}

const oldest = ({ commandQueue }: Ioredis): { readonly name?: string } | undefined =>
  commandQueue?.peekFront?.()?.command;

async function ofNodeRedis(port: ClientPort, pause: Pause): Promise<string | undefined> {
  let answered = false;
  const own = (port.client as NodeRedis).sendCommand(PROBE, {});
  const settled = (): void => void (answered = true);
  own.then(settled, settled);
  await probe(port, pause);
  if (answered) return undefined;
  return (
    `${BUT}: its connection has died silently, or waits for a blocking command (BLPOP). If it ` +
    'does not end, call client.destroy() and await client.connect()'
  );
}

async function probe(port: ClientPort, pause: Pause): Promise<void> {
  const opening = openLine(port, '', () => undefined);
  try {
    const line = await inTime(opening.line, pause);
    await inTime(answer(line), pause);
    await pause(BETWEEN_MS);
    await inTime(answer(line), pause);
  } finally {
    opening.close();
  }
}

const answer = (line: Line): Promise<unknown> => line.send([PROBE])[0] as Promise<unknown>;

async function inTime<T>(promise: Promise<T>, pause: Pause): Promise<T> {
  const late = pause(ANSWER_MS).then(() => {
    throw new Error('no answer');
  });
  late.catch(() => undefined);
  return Promise.race([promise, late]);
}
