/** Behind a proxy that spreads keys over servers, no mutex has two holders. */
import { trial } from '../../../../verification/trials/src/sharded.js';
import { disturbedShare } from '../support/disturbed.js';

disturbedShare(trial, 'node-redis-6', [['spreads-later', 'ioredis-6', 'two holders']]);
