/** Every suite on a quorum of three servers. `HOLDFAST_QUORUM=5` or `=7` takes more servers. */
import { onBackends, quorumOf } from '../support/backends.js';
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

const QUORUM = quorumOf(Number(process.env['HOLDFAST_QUORUM'] ?? 3));

onBackends('all-of', [QUORUM], allOfSuite);
onBackends('closing', [QUORUM], closeSuite);
onBackends('condition', [QUORUM], conditionSuite);
onBackends('election', [QUORUM], electionSuite);
onBackends('flights', [QUORUM], flightsSuite);
onBackends('gates', [QUORUM], gatesSuite);
onBackends('inspection', [QUORUM], inspectionSuite);
onBackends('leases', [QUORUM], leaseSuite);
onBackends('locked', [QUORUM], lockedSuite);
onBackends('mutex', [QUORUM], mutexSuite);
onBackends('owner-locks', [QUORUM], ownerLocksSuite);
onBackends('owners', [QUORUM], ownerSuite);
onBackends('rw-lock', [QUORUM], rwLockSuite);
onBackends('schedule', [QUORUM], scheduleSuite);
onBackends('semaphore', [QUORUM], semaphoreSuite);
