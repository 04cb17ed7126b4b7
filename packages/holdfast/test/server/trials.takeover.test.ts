/** A killed holder's lock is the next waiter's when its lease ends. */
import { trial } from '../../../../trials/src/takeover.js';
import { shareOf } from '../support/trials.js';

shareOf(
  trial,
  {
    'push-only': ['no take-over'],
  },
  'together',
);
