/** Waiters that are dead or frozen cost the others next to nothing. */
import { trial } from '../../../../trials/src/dead-waiters.js';
import { shareOf } from '../support/trials.js';

shareOf(
  trial,
  {
    'no-claim-window': ['too late'],
    'believes-stale-push': ['believed', 'overlap'],
  },
  'together',
);
