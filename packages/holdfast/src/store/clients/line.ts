/** An own connection to a master, for commands that block it. It does not reconnect. */
import { nodeAt } from './admin.js';
import { overrides as ioredisOverrides } from './ioredis-subscription.js';
import { MasterCommands, type MasterFinder } from './master-commands.js';
import { COMMAND_OPTIONS } from './node-redis.js';
import { overrides as nodeRedisOverrides } from './node-redis-subscription.js';
import type { ClientPort } from './port.js';

export interface Opening {
  readonly line: Promise<Line>;
  /** Also if it is not open yet. */
  close(): void;
}

export interface Line {
  /** Writes the commands at once. All reject after the end of the connection. */
  send(commands: readonly (readonly string[])[]): Promise<unknown>[];
  close(): Promise<void>;
}

interface Origin {
  readonly options?: object;
  duplicate(override: object): object;
}

interface Ioredis {
  readonly status: string;
  readonly stream?: { cork?(): void; uncork?(): void; unref?(): void };
  connect(): Promise<void>;
  disconnect(): void;
  call(...words: string[]): Promise<unknown>;
  on(event: 'error', listener: () => void): unknown;
  once(event: 'close' | 'end', listener: () => void): unknown;
}

interface NodeRedis {
  connect(): Promise<unknown>;
  destroy(): void;
  unref?(): void;
  sendCommand(words: readonly string[], options: object): Promise<unknown>;
  on(event: 'connect' | 'error' | 'end', listener: () => void): unknown;
}

/**
 * Opens a connection with the settings of the user's client.
 * @param address of a master of a cluster; otherwise empty
 * @param server another server, with the same settings
 * @param ended called when either side has ended the connection
 */
export function openLine(
  port: ClientPort,
  address: string,
  ended: () => void,
  server?: { readonly host: string; readonly port: number },
): Opening {
  const end = new AbortController();
  return { line: open(port, address, ended, server, end.signal), close: () => end.abort() };
}

async function open(
  port: ClientPort,
  address: string,
  ended: () => void,
  server: { readonly host: string; readonly port: number } | undefined,
  end: AbortSignal,
): Promise<Line> {
  const origin = (await originOf(port, address)) as Origin;
  end.throwIfAborted();
  if (port.name === 'ioredis') {
    const other = server === undefined ? {} : { ...server, sentinels: null, path: undefined };
    const settings = { ...ioredisOverrides(origin.options ?? {}, () => () => null), ...other };
    return ioredisLine(origin.duplicate(settings) as Ioredis, ended, end);
  }
  if (port.name !== 'node-redis') throw new Error(`${port.name} cannot open a connection for WAIT`);
  const { socket, ...rest } = nodeRedisOverrides(origin.options ?? {}, () => () => false) as {
    readonly socket: object;
  };
  const settings = { ...rest, socket: { ...socket, ...server } };
  return nodeRedisLine(origin.duplicate(settings) as NodeRedis, ended, end);
}

async function originOf(port: ClientPort, address: string): Promise<object> {
  if (port.cluster !== undefined) return nodeAt(port.client, address);
  if (port.sentinel === undefined) return port.client;
  return MasterCommands.of(port.client as MasterFinder).master();
}

async function ioredisLine(
  connection: Ioredis,
  ended: () => void,
  end: AbortSignal,
): Promise<Line> {
  connection.on('error', () => undefined);
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      if (connection.status === 'ready' || connection.status === 'connect') {
        connection.once('end', resolve);
      } else {
        resolve();
      }
      connection.disconnect();
    });
  end.addEventListener('abort', () => void close());
  try {
    await connection.connect();
  } catch (error) {
    await close();
    throw error;
  }
  connection.stream?.unref?.();
  connection.once('close', ended);
  return {
    send(commands) {
      const { stream } = connection;
      stream?.cork?.();
      const answers = commands.map((words) => connection.call(...words));
      stream?.uncork?.();
      return answers;
    },
    close,
  };
}

async function nodeRedisLine(
  connection: NodeRedis,
  ended: () => void,
  end: AbortSignal,
): Promise<Line> {
  connection.on('error', () => undefined);
  const close = async (): Promise<void> => {
    try {
      connection.destroy();
    } catch {
      // it is closed already
    }
  };
  // it forgets an earlier socket
  let hasSocket = false;
  connection.on('connect', () => {
    hasSocket = true;
    if (end.aborted) void close();
  });
  end.addEventListener('abort', () => {
    if (hasSocket) void close();
  });
  try {
    await connection.connect();
  } catch (error) {
    await close();
    throw error;
  }
  connection.unref?.();
  // each error ends the connection
  for (const event of ['error', 'end'] as const) connection.on(event, ended);
  return {
    send: (commands) => commands.map((words) => connection.sendCommand(words, COMMAND_OPTIONS)),
    close,
  };
}
