/** Mistakes with the tokens of waiters, as in `faults.ts`. */
import { type Fault, fault } from './faults.js';

const acquire = 'acquire.lua';
const park = 'park.lua';
const parking = 'lib/parking.lua';
const serve = 'lib/serve.lua';

export const TOKEN_FAULTS: readonly Fault[] = [
  fault('acquire: the waiter keeps its old token', [
    acquire,
    'waiter.channel, waiter.token = channel, token',
    'waiter.channel = channel',
  ]),
  fault('acquire: a newcomer has no token', [acquire, 'token = token, ', "token = '', "]),
  fault('park: the parked have no token', [
    park,
    'channel = channel, token = token',
    'channel = channel, token = id',
  ]),
  fault('park: the parked keep their token', [
    park,
    'e.channel, e.token, changed[as] = channel, token, true',
    'e.channel, changed[as] = channel, true',
  ]),
  fault('park: the queued keep their token', [
    park,
    'w.channel, w.token = channel, token',
    'w.channel = channel',
  ]),
  fault('parking: the token and the text are swapped', [
    parking,
    'e.token, e.meta, e.ahead, e.behind, e.older, e.newer = cmsgpack',
    'e.meta, e.token, e.ahead, e.behind, e.older, e.newer = cmsgpack',
  ]),
  fault('serve: a grant without its token', [serve, 'holds, w.token)', "holds, '')"]),
];
