/** The behaviour of the semaphore, in memory and with every client and server. */
import { ALL_BACKENDS, onBackends } from '../support/backends.js';
import { semaphoreSuite } from '../suites/semaphore.js';

onBackends('semaphore', ALL_BACKENDS, semaphoreSuite);
