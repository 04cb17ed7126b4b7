/** Never do two hold one lock, in many processes. */
import { trial } from '../../../../trials/src/exclusion.js';
import { shareOf } from '../support/trials.js';

shareOf(trial, {
  'release-without-compare': ['overlap', 'fence'],
  'no-renewal': ['overlap', 'fence'],
  'asks-for-less': ['overlap'],
});
