/** Calls with key and owner, in memory and with every client on every server. */
import { ALL_BACKENDS, onBackends } from '../support/backends.js';
import { ownerLocksSuite } from '../suites/owner-locks.js';

onBackends('owner-locks', ALL_BACKENDS, ownerLocksSuite);
