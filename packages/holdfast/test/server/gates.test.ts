/** Latches and barriers, in memory and with the newest clients on every server. */
import { NEWEST_BACKENDS, onBackends } from '../support/backends.js';
import { gatesSuite } from '../suites/gates.js';

onBackends('gates', NEWEST_BACKENDS, gatesSuite);
