/** Leader election, in memory and with the newest clients on every server. */
import { NEWEST_BACKENDS, onBackends } from '../support/backends.js';
import { electionSuite } from '../suites/election.js';

onBackends('election', NEWEST_BACKENDS, electionSuite);
