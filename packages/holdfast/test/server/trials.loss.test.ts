/** Who is cut off, or stood still, does not believe for longer than the server. */
import { trial } from '../../../../trials/src/loss-signal.js';
import { shareOf } from '../support/trials.js';

shareOf(trial, {
  'counts-from-reply': ['late promise'],
  'cached-clock': ['held after a stall', 'no abort after a stall'],
});
