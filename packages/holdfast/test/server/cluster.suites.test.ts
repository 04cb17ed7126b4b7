/** Every suite on a cluster of three masters. `HOLDFAST_CLUSTER=valkey` takes Valkey. */
import type { ServerName } from 'holdfast-testkit';
import { clusterOf } from '../support/clusters.js';
import { suitesOn } from '../support/registrations.js';

suitesOn(clusterOf((process.env['HOLDFAST_CLUSTER'] ?? 'redis') as ServerName));
