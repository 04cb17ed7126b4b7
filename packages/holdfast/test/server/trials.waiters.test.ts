/** Dead or stopped waiters hardly delay the others. */
import { trial } from '../../../../verification/trials/src/dead-waiters.js';
import { shareOf } from '../support/trials.js';

shareOf(
  trial,
  {
    'no-claim-window': ['too late'],
    'trusts-stale-push': ['stale lease held', 'overlap'],
  },
  'together',
);
