/** Very many holders of one semaphore. */
import { trial } from '../../../../verification/trials/src/many-holders.js';
import { shareOf } from '../support/trials.js';

shareOf(trial, { 'walks-all': ['grows'] });
