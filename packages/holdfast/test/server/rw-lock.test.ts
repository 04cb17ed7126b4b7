/** The behaviour of the read-write lock, in memory and with every client and server. */
import { ALL_BACKENDS, onBackends } from '../support/backends.js';
import { rwLockSuite } from '../suites/rw-lock.js';

onBackends('rw-lock', ALL_BACKENDS, rwLockSuite);
