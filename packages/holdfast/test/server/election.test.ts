/** Leader election, in memory and with every client on every server. */
import { ALL_BACKENDS, onBackends } from '../support/backends.js';
import { electionSuite } from '../suites/election.js';

onBackends('election', ALL_BACKENDS, electionSuite);
