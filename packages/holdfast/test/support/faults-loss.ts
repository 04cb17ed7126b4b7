/** Faults in the handling of lost keys. See `faults.ts`. */
import { type Fault, fault } from './faults.js';

const orders = 'lib/orders.lua';
const holders = 'lib/holders.lua';
const inspect = 'inspect.lua';

export const LOSS_FAULTS: readonly Fault[] = [
  fault('loss: the queue and the order of expiry are never rebuilt', [
    orders,
    'if not known or agree() then',
    'if true then',
  ]),
  fault('loss: the queue is not compared', [
    orders,
    "(waiting == 0 or redis.call('ZCARD', queue) == waiting)\n    and ",
    '',
  ]),
  fault('loss: the order of expiry is not compared', [
    orders,
    "\n    and (not many or leases == 0 or redis.call('ZCARD', expiries) == leases)",
    '',
  ]),
  fault('loss: a partial order of expiry is used', [
    holders,
    'if many and leases > 0 then\n    first',
    'if many then\n    first',
  ]),
  fault('loss: a waiter of a lost record is ahead', [
    'lib/waiters.lua',
    'if waiters == 1 then return holder end',
    '',
  ]),
  fault('loss: inspect shows a partial state', [inspect, 'if not agree() then', 'if false then']),
  fault('loss: expired leases are not separated from the others', [
    inspect,
    'if one.place > now then',
    'if true then',
  ]),
];
