/** All trials. */
import {
  clocksCluster,
  clocksSentinel,
  restartedCluster,
  restartedSentinel,
} from './changed-masters.js';
import { trial as deadWaiters } from './dead-waiters.js';
import { disturbedCluster, disturbedSentinel } from './disturbed.js';
import { trial as exclusion } from './exclusion.js';
import { trial as forgottenVotes } from './forgotten-votes.js';
import { clusterTrial, sentinelTrial } from './fail-over.js';
import { trial as leaks } from './leaks.js';
import { trial as lossSignal } from './loss-signal.js';
import { trial as lostReplies } from './lost-replies.js';
import { trial as lostServers } from './lost-servers.js';
import { trial as manyHolders } from './many-holders.js';
import { trial as sharded } from './sharded.js';
import { trial as takeover } from './takeover.js';
import type { Trial } from './trial.js';

export const trials: readonly Trial[] = [
  exclusion,
  lostReplies,
  leaks,
  lossSignal,
  takeover,
  deadWaiters,
  manyHolders,
  forgottenVotes,
  lostServers,
  sentinelTrial,
  clusterTrial,
  restartedSentinel,
  restartedCluster,
  clocksSentinel,
  clocksCluster,
  disturbedSentinel,
  disturbedCluster,
  sharded,
];
