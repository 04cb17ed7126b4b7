/** Closing an instance, in memory and with every client on every server. */
import { ALL_BACKENDS, onBackends } from '../support/backends.js';
import { closeSuite } from '../suites/closing.js';

onBackends('closing', ALL_BACKENDS, closeSuite);
