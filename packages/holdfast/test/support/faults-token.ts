/** Faults in the tokens of waiters. See `faults.ts`. */
import { type Fault, fault } from './faults.js';

const acquire = 'lib/acquire.lua';
const park = 'park.lua';
const parking = 'lib/parking.lua';
const serve = 'lib/serve.lua';

export const TOKEN_FAULTS: readonly Fault[] = [
  fault('acquire: the waiter keeps its old token', [
    acquire,
    'waiter.channel, waiter.token, waiter.tasks = channel, token, tasks',
    'waiter.channel, waiter.tasks = channel, tasks',
  ]),
  fault('acquire: a new waiter has no token', [acquire, 'token = token, ', "token = '', "]),
  fault('park: a parked acquisition has no token', [
    park,
    'channel = channel, token = token',
    'channel = channel, token = id',
  ]),
  fault('park: a parked acquisition keeps its old token', [
    park,
    'e.channel, e.token, changed[as] = channel, token, true',
    'e.channel, changed[as] = channel, true',
  ]),
  fault('park: a queued waiter keeps its old token', [
    park,
    'w.channel, w.token = channel, token',
    'w.channel = channel',
  ]),
  fault('parking: the token and the text are swapped', [
    parking,
    'e.token,\n        e.meta, e.ahead, e.behind, e.older, e.newer = cmsgpack',
    'e.meta,\n        e.token, e.ahead, e.behind, e.older, e.newer = cmsgpack',
  ]),
  fault('serve: a grant is sent without its token', [serve, 'holds, w.token)', "holds, '')"]),
];
