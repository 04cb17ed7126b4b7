/** The behaviour of conditions, with every client on every server. */
import { onBackends, ALL_BACKENDS } from '../support/backends.js';
import { conditionSuite } from '../suites/condition.js';

onBackends('condition', ALL_BACKENDS, conditionSuite);
