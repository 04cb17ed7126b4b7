/** The behaviour of inspection, in memory and with every client on every server. */
import { ALL_BACKENDS, onBackends } from '../support/backends.js';
import { inspectionSuite } from '../suites/inspection.js';

onBackends('inspection', ALL_BACKENDS, inspectionSuite);
