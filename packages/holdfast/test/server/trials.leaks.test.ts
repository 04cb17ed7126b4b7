/** No resource of an acquisition remains afterwards. */
import { trial } from '../../../../verification/trials/src/leaks.js';
import { shareOf } from '../support/trials.js';

shareOf(
  trial,
  {
    'no-withdrawal': ['error'],
    'keeps-listeners': ['abortListeners'],
  },
  'together',
);
