/** Calls with key and owner, in memory and with every client on every server. */
import { ALL_BACKENDS, onBackends } from '../support/backends.js';
import { ownerCallsSuite } from '../suites/owner-calls.js';

onBackends('owner-calls', ALL_BACKENDS, ownerCallsSuite);
