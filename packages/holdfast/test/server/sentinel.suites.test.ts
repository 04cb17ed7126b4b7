/**
 * The suites on a master under Sentinel. `HOLDFAST_SENTINEL='redis ioredis-6'` runs all of them,
 * with this server and client; without it only a few run, because they take a minute.
 */
import type { ServerName } from 'holdfast-testkit';
import { type Backend, type ClientName, onBackends, type Suite } from '../support/backends.js';
import { sentinelsOf } from '../support/sentinels.js';
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

const [server = 'valkey', client = 'node-redis-6'] =
  process.env['HOLDFAST_SENTINEL']?.split(' ') ?? [];
const SENTINELS: readonly Backend[] = [sentinelsOf(server as ServerName, client as ClientName)];

const FEW: Readonly<Record<string, Suite>> = { closing: closeSuite, mutex: mutexSuite };
const OTHERS: Readonly<Record<string, Suite>> = {
  'all-of': allOfSuite,
  condition: conditionSuite,
  election: electionSuite,
  flights: flightsSuite,
  gates: gatesSuite,
  inspection: inspectionSuite,
  leases: leaseSuite,
  locked: lockedSuite,
  'owner-locks': ownerLocksSuite,
  owners: ownerSuite,
  'rw-lock': rwLockSuite,
  schedule: scheduleSuite,
  semaphore: semaphoreSuite,
};

const all = process.env['HOLDFAST_SENTINEL'] === undefined ? FEW : { ...FEW, ...OTHERS };
for (const [name, suite] of Object.entries(all)) onBackends(name, SENTINELS, suite);
