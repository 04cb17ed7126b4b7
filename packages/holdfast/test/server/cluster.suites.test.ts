/** Every suite on a cluster of three masters. `HOLDFAST_CLUSTER=valkey` takes Valkey. */
import type { ServerName } from 'holdfast-testkit';
import { onBackends } from '../support/backends.js';
import { clusterOf } from '../support/clusters.js';
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

const CLUSTER = clusterOf((process.env['HOLDFAST_CLUSTER'] ?? 'redis') as ServerName);

onBackends('all-of', [CLUSTER], allOfSuite);
onBackends('closing', [CLUSTER], closeSuite);
onBackends('condition', [CLUSTER], conditionSuite);
onBackends('election', [CLUSTER], electionSuite);
onBackends('flights', [CLUSTER], flightsSuite);
onBackends('gates', [CLUSTER], gatesSuite);
onBackends('inspection', [CLUSTER], inspectionSuite);
onBackends('leases', [CLUSTER], leaseSuite);
onBackends('locked', [CLUSTER], lockedSuite);
onBackends('mutex', [CLUSTER], mutexSuite);
onBackends('owner-locks', [CLUSTER], ownerLocksSuite);
onBackends('owners', [CLUSTER], ownerSuite);
onBackends('rw-lock', [CLUSTER], rwLockSuite);
onBackends('schedule', [CLUSTER], scheduleSuite);
onBackends('semaphore', [CLUSTER], semaphoreSuite);
