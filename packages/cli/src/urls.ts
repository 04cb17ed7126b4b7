/** Makes a client of the server, the master of Sentinel, or the cluster that a URL names. */
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { usage } from './failure.js';
import { printable } from './view/words.js';

/** How long a connection may take. */
export const CONNECT_MS = 5000;

const SCHEMES: Readonly<Record<string, string>> = {
  'redis:': 'redis:',
  'rediss:': 'rediss:',
  'valkey:': 'redis:',
  'valkeys:': 'rediss:',
};
const SENTINEL = 'redis+sentinel://';
const SENTINEL_FORM = `write ${SENTINEL}[user:password@]host:port,host:port/master[/database]`;
const CLUSTER = /^(?:redis|valkey)(s?)\+cluster:\/\//;
const CLUSTER_FORM = 'write redis+cluster://[user:password@]host:port,host:port';
const SOCKET = 'write --url /path/of/the.sock, without redis://';
const FORMS = 'write redis://[user:password@]host[:port][/database], or rediss:// for TLS';

export interface Link {
  readonly client: Redis | Cluster;
  /** For messages: without the password. */
  readonly name: string;
}

export function linkTo(url: string): Link {
  const base = {
    lazyConnect: true,
    connectTimeout: CONNECT_MS,
    connectionName: 'holdfast-cli',
  } as const satisfies RedisOptions;
  if (url.startsWith('/')) return { client: new Redis({ ...base, path: url }), name: url };
  if (url.startsWith(SENTINEL)) {
    const settings = sentinelOf(url);
    const name = `the master ${settings.name} of Sentinel`;
    return { client: new Redis({ ...base, ...settings }), name };
  }
  if (CLUSTER.test(url)) {
    const { nodes, ...login } = clusterOf(url);
    const { lazyConnect, ...each } = base;
    const redisOptions = { ...each, ...login };
    const name = `the cluster of ${nodes.map(({ host, port }) => `${host}:${port}`).join(',')}`;
    return { client: new Cluster(nodes, { lazyConnect, redisOptions }), name };
  }
  // without them, user and password would be read as a host or a path
  if (url.includes('@') && !/^[\w+.-]+:\/\//.test(url)) {
    throw usage('the URL of the server has no // after its scheme', FORMS);
  }
  const parsed = parse(url, FORMS);
  const scheme = SCHEMES[parsed.protocol];
  if (scheme === undefined) throw usage(`unknown URL scheme ${parsed.protocol}`, FORMS);
  checkServer(parsed);
  const name = `the server ${parsed.host === '' ? parsed.pathname : parsed.host}`;
  return { client: new Redis(url.replace(/^\w+:/, scheme), base), name };
}

/** The text of a URL may contain a password, so no error shows it. */
function parse(url: string, form: string): URL {
  try {
    return new URL(url);
  } catch {
    throw usage('the URL of the server cannot be parsed', form);
  }
}

/** @throws a usage error for what the client would take for the database 0, or fail at */
function checkServer({ hash, host, username, password, pathname, searchParams }: URL): void {
  for (const text of [username, password, pathname]) decode(text, FORMS);
  const databases = [pathname.slice(1), searchParams.get('db') ?? ''];
  // the client would connect to the default host, or to what it takes for one
  if (host === '' && /^\/\D/.test(pathname)) throw usage('a socket is named by its path', SOCKET);
  const wrong = databases.find((one) => !/^\d*$/.test(one));
  if (wrong === undefined && hash === '') return;
  // a password that is not encoded may be cut at a `/`, a `?` or a `#`
  const shown = wrong === undefined || wrong.includes('@') ? '' : `: ${printable(wrong)}`;
  throw usage(`the database of the URL is not a number${shown}`, FORMS);
}

/** The text of a URL without its percent escapes. It may be a password, so no error shows it. */
function decode(text: string, form: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw usage('the URL of the server has a wrong percent escape: write % as %25', form);
  }
}

interface Login {
  readonly username?: string;
  readonly password?: string;
}

function loginOf(user: string, form: string): Login {
  const { password, username } = parse(`redis://${user}@host`, form);
  return {
    ...(username !== '' && { username: decode(username, form) }),
    ...(password !== '' && { password: decode(password, form) }),
  };
}

function hostsOf(hosts: string, port: number, form: string): { host: string; port: number }[] {
  return hosts.split(',').map((text) => {
    const one = parse(`redis://${text}`, form);
    if (one.hostname === '') throw usage('a host of the URL is empty', form);
    return { host: one.hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(one.port || port) };
  });
}

/** `redis+sentinel://user:password@host:26379,host:26379/master/database` */
export function sentinelOf(url: string): {
  readonly sentinels: { host: string; port: number }[];
  readonly name: string;
  readonly db?: number;
} & Login {
  const form = /^(?:([^@/]*)@)?([^@/]+)\/([^/]+)(?:\/(\d+))?$/;
  const [, user = '', hosts, name, db] = form.exec(url.slice(SENTINEL.length)) ?? [];
  if (hosts === undefined || name === undefined) {
    throw usage('the URL of Sentinel cannot be parsed', SENTINEL_FORM);
  }
  return {
    sentinels: hostsOf(hosts, 26_379, SENTINEL_FORM),
    name: decode(name, SENTINEL_FORM),
    ...loginOf(user, SENTINEL_FORM),
    ...(db !== undefined && { db: Number(db) }),
  };
}

/** `redis+cluster://user:password@host:6379,host:6379`; `rediss+cluster://` for TLS. */
export function clusterOf(url: string): {
  readonly nodes: { host: string; port: number }[];
  readonly tls?: object;
} & Login {
  const [scheme = '', secure] = CLUSTER.exec(url) ?? [];
  const [, user = '', hosts, rest = ''] =
    /^(?:([^@/]*)@)?([^@/]+)(?:\/(.*))?$/.exec(url.slice(scheme.length)) ?? [];
  if (hosts === undefined) throw usage('the URL of the cluster cannot be parsed', CLUSTER_FORM);
  if (rest !== '') throw usage('a cluster has one database only, without a number', CLUSTER_FORM);
  return {
    nodes: hostsOf(hosts, 6379, CLUSTER_FORM),
    ...loginOf(user, CLUSTER_FORM),
    ...(secure === 's' && { tls: {} }),
  };
}
