/** Methods that run under a lock, in memory and with every client on every server. */
import { ALL_BACKENDS, onBackends } from '../support/backends.js';
import { lockedSuite } from '../suites/locked.js';

onBackends('locked', ALL_BACKENDS, lockedSuite);
