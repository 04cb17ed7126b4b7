/** What is measured of each thing, and the processes that do it. */
import type { Answer } from './orders.js';
import type { Meter, Reading } from './meter.js';
import type { Kind, Site } from './sites.js';
import { Team, type TeamSettings } from './team.js';

export type Thing =
  | 'server'
  | 'pair'
  | 'paced pair'
  | 'hand-off'
  | 'local hand-off'
  | 'lease'
  | 'renewal'
  | 'waiter'
  | 'local waiter'
  | 'process waiter'
  | 'key'
  | 'connection'
  | 'busy connection'
  | 'message'
  | 'plain message'
  | 'pair of masters'
  | 'renewal of masters';

/** What can be measured alone. */
export const PARTS = [
  'servers',
  'pairs',
  'paced',
  'leases',
  'hand-offs',
  'waiters',
  'local',
  'process-waiters',
  'keys',
  'connections',
  'messages',
  'masters',
] as const;
export type Part = (typeof PARTS)[number];

/** What one of them costs. A figure that was not measured is missing. */
export interface Cost {
  readonly commands?: number;
  readonly inner?: number;
  readonly messages?: number;
  /** Processor time of all servers, and of all clients, in µs. */
  readonly server?: number;
  readonly client?: number;
  /** Bytes to the servers, from them, and between them. */
  readonly received?: number;
  readonly sent?: number;
  readonly between?: number;
  /** Bytes of memory of all servers, and of the client. */
  readonly serverBytes?: number;
  readonly clientBytes?: number;
  readonly connections?: number;
}

export interface Row {
  readonly kind: Kind;
  readonly thing: Thing;
  /** How many processes, leases, waiters or masters; of a paced pair the pause in ms. */
  readonly at: number;
  /** Of one; of a waiter in one second. */
  readonly cost: Cost;
}

export interface Sizes {
  readonly pairs: readonly number[];
  /** Between two pairs of an instance, in ms, for pairs that wake idle programs. */
  readonly pauses: readonly number[];
  readonly leases: readonly number[];
  readonly processes: readonly number[];
  readonly waiters: readonly number[];
  /** Calls of one process that wait for another one. */
  readonly calls: readonly number[];
  /** Of clusters of different sizes. */
  readonly masters: readonly number[];
  readonly keys: number;
  /** Pairs and grants of a measurement. */
  readonly operations: number;
  readonly ttl: number;
  /** From so many leases on, a ttl of a minute: else one process had too many renewals to do. */
  readonly many: number;
  /** How long loops last, and how long calls of one process wait. */
  readonly restMs: number;
  /** How long waiters are watched: in each 64 periods they look at their places once. */
  readonly idleMs: number;
  /** How often the servers at rest are measured, until the commands of a start have ended. */
  readonly rests: number;
}

/** Processes of the system that share the instances. */
const WORKERS = 4;
/** After so long a process that holds a lease listens. */
export const LISTENS_MS = 2500;

export function costOf(change: Reading, count: number, answer?: Answer): Cost {
  const { inner, messages, cpu, received, sent, between } = change;
  // without a server, the clients tell
  const commands = change.commands === 0 ? (answer?.commands ?? 0) : change.commands;
  const client = answer === undefined ? {} : { client: answer.cpu / count };
  return {
    ...{ commands: commands / count, inner: inner / count, messages: messages / count },
    ...{ server: cpu / count, ...client, received: received / count, sent: sent / count },
    between: between / count,
  };
}

export interface Bench {
  readonly site: Site;
  readonly meter: Meter;
  readonly sizes: Sizes;
  readonly note: (thing: Thing, at: number, cost: Cost) => void;
}

/** A load with processes of its own; the servers are empty at its start. */
export async function withTeam(
  { site, meter, sizes }: Bench,
  settings: TeamSettings,
  work: (team: Team) => Promise<void>,
): Promise<void> {
  for (const master of site.masters) await master.command('FLUSHALL');
  await using team = await Team.start(site, settings);
  await meter.rest(sizes.rests);
  await work(team);
}

/** The memory of the processes, after the second of two collections. */
export async function weigh(team: Team): Promise<number> {
  await team.ask({ do: 'weigh' });
  return (await team.ask({ do: 'weigh' })).heap;
}

export const processesOf = (instances: number, most: number = WORKERS): number =>
  Math.min(most, instances);

export const spread = (instances: number, most?: number): TeamSettings => ({
  processes: processesOf(instances, most),
  instances,
});
