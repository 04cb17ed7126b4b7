/** The options of this package and their checks. */
import { badOption, flagOption, knownOptions, wholeOption } from 'holdfast/register';
import { nodeFetch } from './node-fetch.js';
import type { FetchFunction } from './transport.js';

/** Options of `etcd`. */
export interface EtcdOptions {
  /** The user, if etcd has authentication. Needs `password`. */
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  /**
   * The beginning of all keys that are used, so of the keys that the user may read and write.
   * Default `holdfast/`.
   */
  readonly root?: string | undefined;
  /** False: no watches for messages, so waiters poll. Default true. */
  readonly listen?: boolean | undefined;
  /** The longest time of a request in ms. 100 to 60,000; default 3,000. */
  readonly timeout?: number | undefined;
  /**
   * The most characters of the state of one key, which has all of its holders and waiters. A
   * command that would make it longer is refused. 1,024 to 262,144; default 131,072, which is about
   * 1,500 waiters in different processes.
   */
  readonly stateMax?: number | undefined;
  /**
   * Sends the requests, as `fetch` does: for certificates, proxies and other settings. By default
   * they are sent with `node:http`, which needs less of the processor.
   */
  readonly fetch?: FetchFunction | undefined;
}

/** The options with their defaults. */
export interface Settings {
  readonly login: { readonly name: string; readonly password: string } | undefined;
  readonly root: string;
  readonly listen: boolean;
  readonly timeout: number;
  readonly stateMax: number;
  readonly fetch: FetchFunction;
}

const OPTIONS: ReadonlySet<string> = new Set([
  ...['user', 'password', 'root', 'listen', 'timeout', 'stateMax', 'fetch'],
]);

export function settingsOf(options: EtcdOptions): Settings {
  knownOptions('options', options, OPTIONS);
  const { root = 'holdfast/', listen, timeout, stateMax, fetch: given } = options;
  const isText = typeof root === 'string' && /^[^\0]{1,200}$/u.test(root);
  if (!isText || Buffer.from(root).toString() !== root) {
    throw badOption('root', 'a text of 1 to 200 characters', root);
  }
  if (given !== undefined && typeof given !== 'function') {
    throw badOption('fetch', 'a function', given);
  }
  return {
    ...{ root, login: loginOf(options), fetch: given ?? nodeFetch },
    listen: flagOption('listen', listen, true),
    timeout: wholeOption('timeout', timeout, 3000, 100, 60_000),
    stateMax: wholeOption('stateMax', stateMax, 131_072, 1024, 262_144),
  };
}

function loginOf({ user, password }: EtcdOptions): Settings['login'] {
  if (user === undefined && password === undefined) return undefined;
  if (user === undefined) throw badOption('user', 'given together with "password"', user);
  if (password === undefined) throw badOption('password', 'given together with "user"', password);
  if (typeof user !== 'string' || user === '') throw badOption('user', 'a non-empty text', user);
  // it is in no message
  if (typeof password !== 'string') throw badOption('password', 'a text', typeof password);
  return { name: user, password };
}

/** The URLs of the members, checked, without a slash at the end. */
export function endpointsOf(given: unknown): string[] {
  const all: unknown[] = Array.isArray(given) ? given : [given];
  const endpoints = all.map(endpointOf);
  if (endpoints.length === 0) throw badOption('endpoints', 'at least one URL', '[]');
  if (new Set(endpoints).size < endpoints.length) {
    throw badOption('endpoints', 'different URLs: each is one member', endpoints);
  }
  return endpoints;
}

function endpointOf(given: unknown): string {
  const expected = 'a URL, as "http://127.0.0.1:2379", or an array of them';
  if (typeof given !== 'string' || !URL.canParse(given))
    throw badOption('endpoints', expected, given);
  const { protocol, username, password, origin, pathname, search, hash } = new URL(given);
  if (!/^https?:$/.test(protocol)) throw badOption('endpoints', expected, given);
  if (username !== '' || password !== '') {
    throw badOption('endpoints', 'URLs without a user: use the options "user" and "password"', '…');
  }
  if (pathname !== '/' || search !== '' || hash !== '') {
    throw badOption('endpoints', 'URLs without a path', given);
  }
  return origin;
}
