/** The behaviour of leases, in memory and with every client on every server. */
import { ALL_BACKENDS, onBackends } from '../support/backends.js';
import { leaseSuite } from '../suites/leases.js';

onBackends('leases', ALL_BACKENDS, leaseSuite);
