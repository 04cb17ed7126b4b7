/**
 * Real servers for tests: one process each on a free port of the loopback, without persistence, in
 * a folder of its own. They can be stopped, frozen, killed and started again, and are gone when the
 * test's process is.
 */
import { mkdtempSync, realpathSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepare, type ServerName } from './binaries.js';
import { guardFolder, removeFolder } from './guardian.js';
import { type Admin, type Launch, Process } from './server-process.js';
import { type Certificate, makeCertificate } from './tls.js';

/** What kind of server to start. */
export interface ServerOptions {
  server: ServerName;
  /** Arguments of the server's own, as on its command line: `['--maxmemory', '1mb']`. */
  args?: string[];
  /** Listens with TLS too, on a second port. */
  tls?: boolean;
  /** The password of the default user. */
  password?: string;
  /**
   * Lines of an access control list without the word `user`: `['alice on >secret ~app:* +@all']`.
   */
  users?: string[];
  /** Addresses of this machine to listen on besides the loopback. */
  bind?: readonly string[];
  /** In addition to this process's own environment. */
  env?: Readonly<Record<string, string>>;
}

/** How often a command of one name ran, and how long all of them took. */
export interface CommandStats {
  calls: number;
  usec: number;
}

/** A server that runs. `await using` stops it. */
export interface Server extends AsyncDisposable {
  readonly name: ServerName;
  readonly version: string;
  readonly host: string;
  readonly port: number;
  /** With the password, if there is one. */
  readonly url: string;
  readonly tlsPort?: number;
  readonly tlsUrl?: string;
  /** The authority that a TLS client has to trust, as PEM. */
  readonly ca?: string;
  /** Where it keeps what it saves, if its arguments say that it does. */
  readonly folder: string;
  /** Changes with a restart. */
  readonly pid: number;
  /** What the server has written to its log since it was last started. */
  log(): string;
  /** Ends the server in order. */
  stop(): Promise<void>;
  /** Ends the server by SIGKILL. */
  kill(): Promise<void>;
  /** Freezes the server: connections are still accepted by the kernel, nothing is answered. */
  pause(): void;
  /** Ends a pause. The server then answers what came in the meantime. */
  resume(): void;
  /**
   * Starts it again on the same port: after `stop`, after `kill`, or ends it in order first. It
   * comes back with what it saved in `folder`: by default that is nothing. `args` are for this
   * start only.
   */
  restart(options?: { args?: readonly string[] }): Promise<void>;
  /**
   * One command over the kit's own connection, as a user that may do everything. Rejects after 5 s.
   */
  command(...words: (string | number)[]): Promise<unknown>;
  /** `INFO commandstats`; the names are in lower case, subcommands are `client|list`. */
  commandstats(): Promise<Map<string, CommandStats>>;
}

const HOST = '127.0.0.1';
const ATTEMPTS = 5;

/** Starts a server, and resolves when it answers. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const binary = await prepare(options.server);
  const certificate = options.tls === true ? await makeCertificate() : undefined;
  const folder = realpathSync(mkdtempSync(join(tmpdir(), `holdfast-${options.server}-`)));
  guardFolder(folder);
  try {
    for (let attempt = 1; ; attempt++) {
      const launch = await plan(options, binary.command, folder, certificate);
      const server = new Process(launch);
      try {
        await server.start();
        return await face(server, options, certificate);
      } catch (error) {
        await server.kill();
        // between the search for a free port and its use, another process may take it
        if (attempt === ATTEMPTS || !/address already in use/i.test(String(error))) throw error;
      }
    }
  } catch (error) {
    removeFolder(folder);
    throw error;
  }
}

async function plan(
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
    // the kit asks the server as a user of its own: the default one may be off, or forbidden to
    // look
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

async function face(
  server: Process,
  options: ServerOptions,
  certificate: Certificate | undefined,
): Promise<Server> {
  const { host, port, tlsPort } = server.launch;
  const login = options.password === undefined ? '' : `:${encodeURIComponent(options.password)}@`;
  const info = String(await server.command('INFO', 'server'));
  // Valkey also reports the version of Redis that it is compatible with
  const version = new RegExp(`^${options.server}_version:(\\S+)`, 'm').exec(info)?.[1] ?? '';
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

/** Ports of the loopback that were free a moment ago, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const listeners = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    listeners.map(
      (listener) =>
        new Promise<number>((resolve, reject) => {
          listener.once('error', reject);
          listener.listen(0, HOST, () => resolve((listener.address() as { port: number }).port));
        }),
    ),
  );
  await Promise.all(listeners.map((one) => new Promise((resolve) => one.close(resolve))));
  return ports;
}
