/** The behaviour of owners, in memory and with every client on every server. */
import { ALL_BACKENDS, onBackends } from '../support/backends.js';
import { ownerSuite } from '../suites/owners.js';

onBackends('owners', ALL_BACKENDS, ownerSuite);
