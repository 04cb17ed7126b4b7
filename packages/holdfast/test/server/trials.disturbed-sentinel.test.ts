/** What disturbs programs under Sentinel and loses no data takes no lease from them. */
import { disturbedSentinel } from '../../../../verification/trials/src/disturbed.js';
import { disturbedShare } from '../support/disturbed.js';

// ioredis refuses replicas itself
disturbedShare(disturbedSentinel, 'node-redis-6', [
  ['writable-replica', 'node-redis-6', 'lost'],
  ['untold-password', 'ioredis-6', 'stuck'],
]);
