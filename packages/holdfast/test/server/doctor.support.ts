/** Healthy servers, and the report of the doctor about them. */
import { type Server, type ServerOptions, startServer } from 'holdfast-testkit';
import { afterEach, expect } from 'vitest';
import type { DoctorReport, Finding, HoldfastOptions } from '../../src/index.js';
import { type ClientName, Made, openClient } from '../support/backends.js';

/** A busy machine must not look like a slow server. */
export const TERMS: HoldfastOptions = { ttl: 120_000, claimWindow: 60_000, retention: 600_000 };
export const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];

export const made = new Made();
const running: Server[] = [];
afterEach(async () => {
  await made.close();
  await Promise.all(running.splice(0).map((server) => server.stop()));
});

export async function start(
  args: string[] = [],
  more: Partial<ServerOptions> = {},
): Promise<Server> {
  const server = await startServer({ server: 'redis', args: [...DURABLE, ...args], ...more });
  running.push(server);
  return server;
}

export type Place = Pick<Server, 'host' | 'port'>;

export async function doctor(
  server: Place,
  options: HoldfastOptions = {},
  login: object = {},
  client: ClientName = 'ioredis-6',
): Promise<DoctorReport> {
  const { host, port } = server;
  const opened = openClient(client, { host, port, ...login });
  return (await made.on(opened, { ...TERMS, ...options })).doctor();
}

export const codes = ({ findings }: DoctorReport): string[] => findings.map(({ code }) => code);

/** The only finding. */
export async function only(report: Promise<DoctorReport>): Promise<Finding> {
  const { findings } = await report;
  expect(findings).toHaveLength(1);
  return findings[0] as Finding;
}
