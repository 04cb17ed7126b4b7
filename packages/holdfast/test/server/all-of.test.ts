/** Several locks acquired together, in memory and with every client and server. */
import { ALL_BACKENDS, onBackends } from '../support/backends.js';
import { allOfSuite } from '../suites/all-of.js';

onBackends('all-of', ALL_BACKENDS, allOfSuite);
