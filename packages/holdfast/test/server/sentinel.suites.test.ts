/**
 * The suites on a master under Sentinel. `HOLDFAST_SENTINEL='redis ioredis-6'` runs all of them,
 * with this server and client; without it only a few run, because they take a minute.
 */
import type { ServerName } from 'holdfast-testkit';
import type { ClientName } from '../support/backends.js';
import { suitesOn } from '../support/registrations.js';
import { sentinelsOf } from '../support/sentinels.js';

const asked = process.env['HOLDFAST_SENTINEL'];
const [server = 'valkey', client = 'node-redis-6'] = asked?.split(' ') ?? [];
const backend = sentinelsOf(server as ServerName, client as ClientName);

suitesOn(backend, ({ sentinel }) => sentinel === true || asked !== undefined);
