/** A holder that is cut off or blocked does not consider a lease held after the server ended it. */
import { trial } from '../../../../verification/trials/src/loss-signal.js';
import { shareOf } from '../support/trials.js';

shareOf(trial, {
  'counts-from-reply': ['late promise'],
  'cached-clock': ['held after a stall', 'no abort after a stall'],
});
