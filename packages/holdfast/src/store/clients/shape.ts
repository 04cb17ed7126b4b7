/**
 * Recognizes the client library by the shape of the object: none is imported. The adapters are
 * loaded later, see `detect.ts`.
 */
import { prefixOf } from './common.js';

const ACCEPTED =
  'Pass a client of ioredis 5 or 6 (`new Redis(…)`, also with Sentinel, or `new Cluster(…)`) ' +
  'or of node-redis, the package `redis` 5 or 6 (`createClient(…)` or `createCluster(…)`), ' +
  'or of `@valkey/valkey-glide` 2';

const DUPLICATE = 'Pass another client, for example its duplicate()';

type Shape = Readonly<Record<string, unknown>>;

export interface ClientShape {
  readonly library: 'ioredis' | 'node-redis' | 'valkey-glide';
  readonly kind: 'server' | 'cluster' | 'sentinel';
  /** See `ConnectionPart.hasNoLine`. */
  readonly hasLine: boolean;
}

/** Throws a TypeError that describes an unusable object. */
export function recognize(client: unknown): ClientShape {
  const refused = refusal(client);
  if (refused !== undefined) throw new TypeError(`This client cannot be used: ${refused}`);
  return shapeOf(client as object);
}

export function shapeOf(client: object): ClientShape {
  const shape = client as Shape;
  if (isGlide(shape)) {
    const kind = 'ssubscribe' in shape ? 'cluster' : 'server';
    return { library: 'valkey-glide', kind, hasLine: false };
  }
  const hasLine = true;
  if (isIoredisCluster(shape)) return { library: 'ioredis', kind: 'cluster', hasLine };
  if (isNodeRedisCluster(shape)) return { library: 'node-redis', kind: 'cluster', hasLine };
  if (isSentinel(shape)) return { library: 'node-redis', kind: 'sentinel', hasLine };
  return { library: isIoredis(shape) ? 'ioredis' : 'node-redis', kind: 'server', hasLine };
}

function refusal(client: unknown): string | undefined {
  if (typeof client === 'function') {
    return `it is the function or class ${client.name || '(no name)'}, not a client. ${ACCEPTED}.`;
  }
  if (typeof client !== 'object' || client === null) return `it is ${show(client)}. ${ACCEPTED}.`;
  const shape = client as Shape;
  if (has(shape, 'then')) return 'it is a promise. Await it first.';
  if ([isIoredisCluster, isNodeRedisCluster].some((is) => is(shape))) {
    return emptyTag(shape) ?? repeats(shape);
  }
  if ([isSentinel, isGlide].some((is) => is(shape))) return undefined;
  return kind(shape) ?? (isIoredis(shape) ? ioredisMode(shape) : nodeRedisMode(shape));
}

/** The reason for objects that resemble a client or belong to one. */
function kind(shape: Shape): string | undefined {
  if (has(shape, 'execute') && 'totalClients' in shape) {
    return (
      'it is a pool of node-redis (createClientPool), which sends commands over several ' +
      'connections in no fixed order. Pass one client (createClient).'
    );
  }
  if (shape['isPipeline'] === true || (has(shape, 'exec') && has(shape, 'addCommand'))) {
    return 'it is a pipeline or transaction. Pass the client that created it.';
  }
  if (has(shape, 'executeIsolated') || has(shape, 'internal_send_command')) {
    return `it is a client of node-redis before version 5. ${ACCEPTED}.`;
  }
  if (isIoredis(shape) || isNodeRedis(shape)) return undefined;
  if (has(shape, 'sendCommand') && has(shape, 'hGetAll') && !has(shape, 'duplicate')) {
    return 'it is the legacy interface of a node-redis client (legacy()). Pass the client itself.';
  }
  return `it is ${show(shape)}. ${ACCEPTED}.`;
}

function isGlide(shape: Shape): boolean {
  return has(shape, 'customCommand') && has(shape, 'invokeScript');
}

function isIoredisCluster(shape: Shape): boolean {
  return shape['isCluster'] === true && has(shape, 'evalsha') && has(shape, 'nodes');
}

function isNodeRedisCluster(shape: Shape): boolean {
  return has(shape, 'nodeClient') && has(shape, 'getSlotRandomNode') && has(shape, 'sendCommand');
}

function isSentinel(shape: Shape): boolean {
  return has(shape, 'getSentinelNode') && has(shape, '_execute');
}

function isIoredis(shape: Shape): boolean {
  const methods = ['evalsha', 'eval', 'scan', 'pipeline', 'duplicate', 'defineCommand'];
  return methods.every((name) => has(shape, name)) && isObject(shape['options']);
}

function isNodeRedis(shape: Shape): boolean {
  // version 5 introduced `withCommandOptions`
  const methods = ['sendCommand', 'duplicate', 'connect', 'withCommandOptions'];
  return methods.every((name) => has(shape, name));
}

function ioredisMode(shape: Shape): string | undefined {
  // under RESP3 a subscribed client has the mode `normal`, and accepts commands
  const mode = shape['mode'];
  if (mode !== 'subscriber' && mode !== 'monitor') return repeats(shape);
  return `it is an ioredis client in ${mode} mode, which accepts no commands. ${DUPLICATE}.`;
}

interface ClusterOptions {
  readonly keyPrefix?: unknown;
  readonly reconnectOnError?: unknown;
  readonly redisOptions?: { readonly reconnectOnError?: unknown };
}

const optionsOf = (shape: Shape): ClusterOptions =>
  ((shape['options'] ?? shape['_options']) as ClusterOptions | undefined) ?? {};

/** A cluster ignores an empty tag, and takes no other from the rest of the name. */
function emptyTag(shape: Shape): string | undefined {
  const prefix = prefixOf(optionsOf(shape).keyPrefix);
  if (!prefix.startsWith('{}', prefix.indexOf('{'))) return undefined;
  return 'its keyPrefix has an empty tag, so a cluster puts the keys of a lock into several slots.';
}

/** The answer to the first call of each script. */
const NOSCRIPT = 'NOSCRIPT No matching script. Please use EVAL.';
/** `reconnectOnError` returns it to repeat a command. */
const SEND_AGAIN = 2;

function repeats(shape: Shape): string | undefined {
  const { reconnectOnError, redisOptions } = optionsOf(shape);
  const decide = reconnectOnError ?? redisOptions?.reconnectOnError;
  if (typeof decide !== 'function') return undefined;
  let decision: unknown;
  try {
    decision = (decide as (error: Error) => unknown)(new Error(NOSCRIPT));
  } catch {
    return undefined;
  }
  if (decision !== SEND_AGAIN) return undefined;
  return (
    'its option reconnectOnError returns 2 for NOSCRIPT, so it would repeat the first call of a ' +
    'script without end. Let it return false for errors that begin with NOSCRIPT.'
  );
}

function nodeRedisMode(shape: Shape): string | undefined {
  if (shape['isPubSubActive'] !== true || !speaksResp2(shape)) return undefined;
  return `it is a node-redis client in subscriber mode, which accepts no commands. ${DUPLICATE}.`;
}

function speaksResp2(shape: Shape): boolean {
  const options = shape['options'];
  const version = isObject(options) ? (options as Shape)['RESP'] : undefined;
  if (version !== undefined) return version === 2;
  // node-redis 6 defaults to RESP 3, and gives every client a time limit for commands
  const commandOptions = shape['_commandOptions'];
  return !(isObject(commandOptions) && 'timeout' in (commandOptions as object));
}

function has(shape: Shape, method: string): boolean {
  return typeof shape[method] === 'function';
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

/** Briefly, without data that may be secret. */
function show(value: unknown): string {
  if (typeof value === 'string') return 'a string (a URL?)';
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return 'an array';
  const name = (value.constructor as { name?: string } | undefined)?.name;
  return name === undefined || name === 'Object' ? 'a plain object' : `an object of class ${name}`;
}
