/** Scheduled work, in memory and with the newest clients on every server. */
import { NEWEST_BACKENDS, onBackends } from '../support/backends.js';
import { scheduleSuite } from '../suites/schedule.js';

onBackends('schedule', NEWEST_BACKENDS, scheduleSuite);
