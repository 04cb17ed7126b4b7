/** The behaviour of the mutex, with every client on every server. */
import { OTHER_PROTOCOL, onBackends, REDIS_BACKENDS } from '../support/backends.js';
import { mutexSuite } from '../suites/mutex.js';

onBackends('mutex', [...REDIS_BACKENDS, ...OTHER_PROTOCOL], mutexSuite);
