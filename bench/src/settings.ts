/** The command line of a run, and its settings. */
import { parseArgs } from 'node:util';
import type { Server, ServerName } from 'holdfast-testkit';
import { CLIENTS, type ClientName } from './clients.js';

export const PARTS = [
  'counts',
  'uncontended',
  'concurrent',
  'handoff',
  'crowd',
  'cost',
  'readers',
] as const;
export type Part = (typeof PARTS)[number];

export interface Settings {
  readonly servers: readonly ServerName[];
  readonly clients: readonly ClientName[];
  readonly parts: readonly Part[];
  /** The duration of each measurement in each round, in seconds. */
  readonly seconds: number;
  readonly rounds: number;
  readonly save: boolean;
}

/** The settings, and the server to measure. */
export interface Bench extends Settings {
  readonly server: Server;
}

export const USAGE: string = `npm run bench -- [options]
  --only PART      one of ${PARTS.join(', ')}; may be repeated
  --client NAME    one of ${CLIENTS.join(', ')}; may be repeated (default ioredis, node-redis)
  --server NAME    redis (default) or valkey; may be repeated
  --seconds N      duration of each measurement in each round (default 0.4)
  --rounds N       rounds of A/B/A/B… (default 7)
  --save           also writes bench/results/<date>.json`;

/** Throws with a readable message if the command line is invalid. */
export function readSettings(args: string[]): Settings | undefined {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: 'boolean' },
      only: { type: 'string', multiple: true },
      client: { type: 'string', multiple: true },
      server: { type: 'string', multiple: true },
      seconds: { type: 'string', default: '0.4' },
      rounds: { type: 'string', default: '7' },
      save: { type: 'boolean', default: false },
    },
  });
  if (values.help === true) return undefined;
  return {
    servers: chosen('server', values.server ?? ['redis'], ['redis', 'valkey'] as const),
    clients: chosen('client', values.client ?? ['ioredis', 'node-redis'], CLIENTS),
    parts: chosen('only', values.only ?? [...PARTS], PARTS),
    seconds: positive('seconds', values.seconds),
    rounds: Math.ceil(positive('rounds', values.rounds)),
    save: values.save,
  };
}

function chosen<T extends string>(option: string, given: string[], known: readonly T[]): T[] {
  for (const name of given) {
    if (!known.some((one) => one === name)) {
      throw new Error(`--${option} ${name}: expected one of ${known.join(', ')}`);
    }
  }
  return known.filter((one) => given.includes(one));
}

function positive(option: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${option} ${text}: expected a number above 0`);
  return value;
}
