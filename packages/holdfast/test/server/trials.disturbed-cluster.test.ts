/** What disturbs programs on a cluster and loses no data takes no lease from them. */
import { disturbedCluster } from '../../../../verification/trials/src/disturbed.js';
import { disturbedShare } from '../support/disturbed.js';

disturbedShare(disturbedCluster, 'ioredis-6', [['one-sided', 'node-redis-6', 'stuck']]);
