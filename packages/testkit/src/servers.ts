/**
 * Real servers for tests. Each is a process on a free loopback port, in its own folder, without
 * persistence. A test can stop, pause, kill and restart it. It ends with the test's process.
 */
import { mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepare, type ServerName } from './binaries.js';
import { guardFolder, removeFolder } from './guardian.js';
import { freePorts, HOST } from './ports.js';
import { type Admin, type Launch, Process } from './server-process.js';
import { type Certificate, makeCertificate } from './tls.js';

/** Options of `startServer`. */
export interface ServerOptions {
  server: ServerName | 'redis-6';
  /** Command-line arguments of the server: `['--maxmemory', '1mb']`. */
  args?: string[];
  /** Also listens with TLS, on a second port. */
  tls?: boolean;
  /** The password of the default user. */
  password?: string;
  /**
   * Lines of an access control list without the word `user`: `['alice on >secret ~app:* +@all']`.
   */
  users?: string[];
  /** Further addresses of this machine to listen on. */
  bind?: readonly string[];
  /** In addition to this process's own environment. */
  env?: Readonly<Record<string, string>>;
}

/** The number of calls of one command, and their total time in µs. */
export interface CommandStats {
  calls: number;
  usec: number;
}

/** A running server. `await using` stops it. */
export interface Server extends AsyncDisposable {
  readonly name: ServerOptions['server'];
  readonly version: string;
  readonly host: string;
  readonly port: number;
  /** Includes the password, if there is one. */
  readonly url: string;
  readonly tlsPort?: number;
  readonly tlsUrl?: string;
  /** The certificate authority for TLS clients, as PEM. */
  readonly ca?: string;
  /** The folder of its data files, if its arguments enable persistence. */
  readonly folder: string;
  /** Changes with a restart. */
  readonly pid: number;
  /** The server's log since its last start. */
  log(): string;
  /** Stops the server by SIGTERM. */
  stop(): Promise<void>;
  /** Kills the server by SIGKILL. */
  kill(): Promise<void>;
  /** Stops the process by SIGSTOP: the kernel still accepts connections, but no command runs. */
  pause(): void;
  /** Ends a pause. The server then answers the commands that it received meanwhile. */
  resume(): void;
  /**
   * Starts it again on the same port, after `stop`, after `kill`, or after stopping it first. It
   * loads the data saved in `folder`; by default there is none. `args` are for this start only.
   */
  restart(options?: { args?: readonly string[] }): Promise<void>;
  /**
   * Sends one command over the test kit's own connection, with all permissions. Rejects after 5 s.
   */
  command(...words: (string | number)[]): Promise<unknown>;
  /** `INFO commandstats`; the names are in lower case, subcommands are `client|list`. */
  commandstats(): Promise<Map<string, CommandStats>>;
}

const ATTEMPTS = 5;

/** Starts a server, and resolves when it answers. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const binary = await prepare(options.server);
  const certificate = options.tls === true ? await makeCertificate() : undefined;
  const folder = realpathSync(mkdtempSync(join(tmpdir(), `holdfast-${options.server}-`)));
  guardFolder(folder);
  try {
    for (let attempt = 1; ; attempt++) {
      const launch = await prepareLaunch(options, binary.command, folder, certificate);
      const server = new Process(launch);
      try {
        await server.start();
        return await toServer(server, options, certificate);
      } catch (error) {
        await server.kill();
        // another process may take the free port before the server uses it
        if (attempt === ATTEMPTS || !/address already in use/i.test(String(error))) throw error;
      }
    }
  } catch (error) {
    removeFolder(folder);
    throw error;
  }
}

async function prepareLaunch(
  options: ServerOptions,
  command: string[],
  folder: string,
  certificate: Certificate | undefined,
): Promise<Launch> {
  const { args = [], password, users, bind = [], env = {} } = options;
  const [port, tlsPort] = await freePorts(2);
  const lines = [
    `bind ${[HOST, ...bind].join(' ')}`,
    `port ${port}`,
    'protected-mode no',
    'daemonize no',
    'save ""',
    'appendonly no',
    `dir ${JSON.stringify(folder)}`,
  ];
  const files = new Map<string, string>();
  if (certificate !== undefined) {
    files.set('ca.crt', certificate.ca);
    files.set('server.crt', certificate.cert);
    files.set('server.key', certificate.key);
    lines.push(`tls-port ${tlsPort}`, 'tls-auth-clients no');
    lines.push('tls-ca-cert-file ca.crt', 'tls-cert-file server.crt', 'tls-key-file server.key');
  }
  let admin: Admin | undefined;
  if (password !== undefined || users !== undefined) {
    // the test kit uses a separate user: the default user may be disabled or lack permissions
    admin = { user: 'testkit', password: 'testkit' };
    lines.push(`user ${admin.user} on >${admin.password} ~* &* +@all`);
    lines.push(...(users ?? []).map((user) => `user ${user}`));
  }
  if (password !== undefined) lines.push(`requirepass ${JSON.stringify(password)}`);
  return {
    command,
    args,
    folder,
    files: files.set('server.conf', `${lines.join('\n')}\n`),
    host: HOST,
    port: port as number,
    tlsPort: certificate === undefined ? undefined : tlsPort,
    admin,
    env,
  };
}

async function toServer(
  server: Process,
  options: ServerOptions,
  certificate: Certificate | undefined,
): Promise<Server> {
  const { host, port, tlsPort } = server.launch;
  const login = options.password === undefined ? '' : `:${encodeURIComponent(options.password)}@`;
  const info = String(await server.command('INFO', 'server'));
  // Valkey also reports a compatible Redis version
  const version =
    new RegExp(`^${options.server.replace('-6', '')}_version:(\\S+)`, 'm').exec(info)?.[1] ?? '';
  const tls =
    certificate === undefined || tlsPort === undefined
      ? {}
      : { tlsPort, tlsUrl: `rediss://${login}${host}:${tlsPort}`, ca: certificate.ca };
  const stop = async (): Promise<void> => {
    await server.stop();
    removeFolder(server.launch.folder);
  };
  return {
    name: options.server,
    version,
    host,
    port,
    url: `redis://${login}${host}:${port}`,
    ...tls,
    folder: server.launch.folder,
    get pid() {
      return server.pid;
    },
    log: () => server.log(),
    stop,
    kill: () => server.kill(),
    pause: () => server.signal('SIGSTOP'),
    resume: () => server.signal('SIGCONT'),
    restart: async ({ args } = {}) => {
      await server.stop();
      await server.start(args);
    },
    command: (...words) => server.command(...words),
    commandstats: async () => statsOf(String(await server.command('INFO', 'commandstats'))),
    [Symbol.asyncDispose]: stop,
  };
}

function statsOf(info: string): Map<string, CommandStats> {
  const lines = info.matchAll(/^cmdstat_([^:]+):calls=(\d+),usec=(\d+)/gm);
  return new Map(
    [...lines].map(([, name = '', calls, usec]) => [
      name.toLowerCase(),
      { calls: Number(calls), usec: Number(usec) },
    ]),
  );
}
