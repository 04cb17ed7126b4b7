/** The mutex in memory. */
import { MEMORY, onBackends } from '../support/backends.js';
import { mutexSuite } from '../suites/mutex.js';

onBackends('mutex', [MEMORY], mutexSuite);
