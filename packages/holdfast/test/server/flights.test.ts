/** Single flight, in memory and with the newest clients on every server. */
import { NEWEST_BACKENDS, onBackends } from '../support/backends.js';
import { flightsSuite } from '../suites/flights.js';

onBackends('flights', NEWEST_BACKENDS, flightsSuite);
