/** After a holder is killed, the next waiter gets the lock when the lease ends. */
import { trial } from '../../../../verification/trials/src/takeover.js';
import { shareOf } from '../support/trials.js';

shareOf(
  trial,
  {
    'push-only': ['no take-over'],
  },
  'together',
);
