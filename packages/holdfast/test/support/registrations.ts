/**
 * The suites, and the primitives that they test: the one table that each runner and the matrix
 * read. `recipes.test.ts` compares it with CONTRIBUTING.md, and each primitive with the places that
 * the recipe names.
 */
import { allOfSuite } from '../suites/all-of.js';
import { closeSuite } from '../suites/closing.js';
import { conditionSuite } from '../suites/condition.js';
import { electionSuite } from '../suites/election.js';
import { flightsSuite } from '../suites/flights.js';
import { gatesSuite } from '../suites/gates.js';
import { inspectionSuite } from '../suites/inspection.js';
import { leaseSuite } from '../suites/leases.js';
import { lockedSuite } from '../suites/locked.js';
import { mutexSuite } from '../suites/mutex.js';
import { ownerLocksSuite } from '../suites/owner-locks.js';
import { ownerSuite } from '../suites/owners.js';
import { rwLockSuite } from '../suites/rw-lock.js';
import { scheduleSuite } from '../suites/schedule.js';
import { semaphoreSuite } from '../suites/semaphore.js';
import { viewsSuite } from '../suites/views.js';
import {
  type Backend,
  BACKENDS,
  COMBINATIONS,
  NEWEST_BACKENDS,
  onBackends,
  type Suite,
} from './backends.js';

/** Where a primitive is found, beside the places that its file name gives. */
export interface Primitive {
  /** Its file in `src/primitives`; in camel case, its public name. */
  readonly file: string;
  /** Its page, from the root of the repository. */
  readonly page: string;
  /** Its name in the plans of the simulator; `undefined` if it only calls other primitives. */
  readonly sim: string | undefined;
  /** Its step of the torture; `undefined` if it only calls other primitives. */
  readonly torture: string | undefined;
  /** The file that makes it, if that is not a method of the class `Holdfast`. */
  readonly maker?: string;
}

/**
 * The clients of a suite: `all`: each on one of the servers; `newest`: only the newest versions, if
 * its API does not depend on the client; `combinations`: all on each server, with each version of
 * the protocol.
 */
export type Clients = 'all' | 'combinations' | 'newest';

export interface Registration {
  /** The file of the suite, and of its test on servers. */
  readonly name: string;
  readonly suite: Suite;
  readonly clients: Clients;
  readonly primitives: readonly Primitive[];
  /** True if it runs with valkey-glide on one server. */
  readonly glide?: true;
  /** True if it always runs under Sentinel; the others run on request. */
  readonly sentinel?: true;
}

const of = (
  file: string,
  page: string,
  sim: string | undefined,
  torture: string | undefined,
): Primitive => ({ file, page, sim, torture });

const gates = 'docs/latch-and-barrier.md';

export const REGISTRATIONS: readonly Registration[] = [
  {
    name: 'all-of',
    suite: allOfSuite,
    clients: 'all',
    primitives: [of('all-of', 'docs/several-keys.md', 'all', 'allOf')],
  },
  { name: 'closing', suite: closeSuite, clients: 'all', primitives: [], sentinel: true },
  {
    name: 'condition',
    suite: conditionSuite,
    clients: 'all',
    primitives: [
      {
        ...of('condition', 'docs/condition.md', 'consume', 'condition'),
        maker: 'primitives/mutex.ts',
      },
    ],
    glide: true,
  },
  {
    name: 'election',
    suite: electionSuite,
    clients: 'newest',
    primitives: [of('election', 'docs/election.md', 'lead', 'election')],
  },
  {
    name: 'flights',
    suite: flightsSuite,
    clients: 'newest',
    primitives: [of('single-flight', 'docs/single-flight.md', undefined, 'flight')],
  },
  {
    name: 'gates',
    suite: gatesSuite,
    clients: 'newest',
    primitives: [of('latch', gates, 'latch', 'latch'), of('barrier', gates, 'barrier', 'barrier')],
  },
  { name: 'inspection', suite: inspectionSuite, clients: 'all', primitives: [] },
  // It waits for minutes. The others renew with each client, and the quorum has a client of each.
  { name: 'leases', suite: leaseSuite, clients: 'newest', primitives: [] },
  {
    name: 'locked',
    suite: lockedSuite,
    clients: 'all',
    primitives: [{ ...of('locked', 'docs/decorator.md', undefined, undefined), maker: 'index.ts' }],
  },
  {
    name: 'mutex',
    suite: mutexSuite,
    clients: 'combinations',
    primitives: [of('mutex', 'README.md', 'mutex', 'mutex')],
    glide: true,
    sentinel: true,
  },
  {
    name: 'owner-locks',
    suite: ownerLocksSuite,
    clients: 'all',
    primitives: [of('owner-locks', 'docs/java.md', 'calls', undefined)],
  },
  { name: 'owners', suite: ownerSuite, clients: 'all', primitives: [] },
  {
    name: 'rw-lock',
    suite: rwLockSuite,
    clients: 'all',
    primitives: [of('rw-lock', 'docs/rw-lock.md', 'write', 'rwLock')],
  },
  {
    name: 'schedule',
    suite: scheduleSuite,
    clients: 'newest',
    primitives: [of('schedule', 'docs/scheduled-work.md', 'schedule', 'schedule')],
  },
  {
    name: 'semaphore',
    suite: semaphoreSuite,
    clients: 'all',
    primitives: [of('semaphore', 'docs/semaphore.md', 'permits', 'semaphore')],
    glide: true,
  },
  { name: 'views', suite: viewsSuite, clients: 'newest', primitives: [] },
];

const CLIENTS: Readonly<Record<Clients, readonly Backend[]>> = {
  all: BACKENDS,
  combinations: COMBINATIONS,
  newest: NEWEST_BACKENDS,
};

/** Defines one suite, with its clients on every server. */
export function suiteOnServers(name: string): void {
  const found = REGISTRATIONS.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no suite ${name}`);
  onBackends(name, CLIENTS[found.clients], found.suite);
}

/** Defines the suites on a backend: all, or those that a function chooses. */
export function suitesOn(
  backend: Backend,
  chosen: (one: Registration) => boolean = () => true,
): void {
  for (const one of REGISTRATIONS) if (chosen(one)) onBackends(one.name, [backend], one.suite);
}
