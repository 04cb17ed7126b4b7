/**
 * Real etcd members for tests, each in its own folder. They end with the test's process. Their
 * elections take half a second at most, and by default nothing reaches the disk.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepare } from './binaries.js';
import { freePorts, HOST } from './ports.js';
import { type Program, programFolder, startProgram } from './program.js';
import type { Certificate } from './tls.js';

/** One member of a cluster. */
export interface EtcdMember {
  /** Its URL for clients. */
  readonly endpoint: string;
  /** The folder of its data. */
  readonly data: string;
  /** Ends it at once. */
  kill(): Promise<void>;
  /** Starts it again with its data. */
  restart(): Promise<void>;
  /** Stops it without an end: its connections stay open. */
  freeze(): void;
  resume(): void;
}

/** A running cluster. `await using` stops it. */
export interface Etcd extends AsyncDisposable {
  readonly version: string;
  readonly members: readonly EtcdMember[];
  readonly endpoints: readonly string[];
}

export interface EtcdOptions {
  /** Default 1. */
  readonly members?: number;
  /** Its clients must use TLS. */
  readonly certificate?: Certificate;
  /** Each change reaches the disk before it is answered. Default false. */
  readonly fsync?: boolean;
  /** More arguments. */
  readonly args?: readonly string[];
  /** The port at which the others reach the member that listens on a port: that of a proxy. */
  readonly peerPort?: (port: number) => Promise<number>;
  /** The environment of each member, by its place. */
  readonly envOf?: (at: number) => Readonly<Record<string, string>>;
}

/** Starts a cluster, and resolves when all members serve clients. */
export async function startEtcd(options: EtcdOptions = {}): Promise<Etcd> {
  const { members: count = 1, certificate, peerPort = async (port) => port } = options;
  const { command, version } = await prepare('etcd');
  const ports = await freePorts(2 * count);
  const urlOf = (port: number): string => `http://${HOST}:${port}`;
  const listening = ports.slice(count).map(urlOf);
  const peers = (await Promise.all(ports.slice(count).map(peerPort))).map(urlOf);
  const scheme = certificate === undefined ? 'http' : 'https';
  const endpoints = ports.slice(0, count).map((port) => `${scheme}://${HOST}:${port}`);
  const initial = peers.map((peer, at) => `m${at}=${peer}`).join(',');
  const started = await Promise.allSettled(
    endpoints.map((endpoint, at) => {
      const urls = ['--listen-client-urls', endpoint, '--advertise-client-urls', endpoint];
      urls.push('--listen-peer-urls', listening[at] as string);
      urls.push('--initial-advertise-peer-urls', peers[at] as string);
      urls.push('--name', `m${at}`, '--initial-cluster', initial);
      return startMember(endpoint, [...command, ...urls], at, options);
    }),
  );
  const members = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const stop = async (): Promise<void> => {
    await Promise.all(members.map((one) => one.stop()));
  };
  const failed = started.find((one) => one.status === 'rejected');
  if (failed !== undefined) {
    await stop();
    throw failed.reason as Error;
  }
  return { version, members, endpoints, [Symbol.asyncDispose]: stop };
}

async function startMember(
  endpoint: string,
  command: readonly string[],
  at: number,
  { certificate, fsync = false, args = [], envOf }: EtcdOptions,
): Promise<EtcdMember & { stop(): Promise<void> }> {
  const folder = programFolder('etcd');
  const data = join(folder, 'data');
  const words = [...command, '--data-dir', data, '--logger', 'zap'];
  words.push('--heartbeat-interval', '50', '--election-timeout', '500', ...args);
  if (!fsync) words.push('--unsafe-no-fsync');
  if (certificate !== undefined) {
    for (const [name, text] of [
      ['cert-file', certificate.cert],
      ['key-file', certificate.key],
    ] as const) {
      writeFileSync(join(folder, name), text, { mode: 0o600 });
      words.push(`--${name}`, join(folder, name));
    }
  }
  const start = (): Promise<Program<boolean>> =>
    startProgram({
      ...{ name: 'etcd', folder, command: words, env: envOf?.(at) ?? {} },
      ready: (log) => log.includes('serving client traffic') || undefined,
    });
  let program = await start();
  return {
    endpoint,
    data,
    kill: () => program.end(),
    restart: async () => {
      program = await start();
    },
    freeze: () => program.send('SIGSTOP'),
    resume: () => program.send('SIGCONT'),
    stop: () => program.stop(),
  };
}
