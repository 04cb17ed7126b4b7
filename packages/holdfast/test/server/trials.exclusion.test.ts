/** At most one process holds a lock at a time, with many processes. */
import { trial } from '../../../../verification/trials/src/exclusion.js';
import { shareOf } from '../support/trials.js';

shareOf(trial, {
  'release-without-compare': ['overlap', 'fence'],
  'no-renewal': ['overlap', 'fence'],
  'asks-for-less': ['overlap'],
});
