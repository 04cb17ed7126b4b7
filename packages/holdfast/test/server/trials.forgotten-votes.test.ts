/** A server of a quorum that restarts without its memory does not vote. */
import { trial } from '../../../../verification/trials/src/forgotten-votes.js';
import { shareOf } from '../support/trials.js';

shareOf(trial, { 'no-guard': ['two holders'] }, 'together');
