/** The server executed a command, and its reply was lost. */
import { trial } from '../../../../verification/trials/src/lost-replies.js';
import { shareOf } from '../support/trials.js';

shareOf(
  trial,
  {
    'new-id': ['orphan'],
    'no-withdrawal': ['orphan'],
    'release-any': ['newer lease'],
  },
  'together',
);
