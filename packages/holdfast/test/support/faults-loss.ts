/** Mistakes in what is done about lost keys, as those of `faults.ts`. */
import { type Fault, fault } from './faults.js';

const orders = 'lib/orders.lua';
const holders = 'lib/holders.lua';
const inspect = 'inspect.lua';

export const LOSS_FAULTS: readonly Fault[] = [
  fault('loss: the orders are never made anew', [
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
  fault('loss: what is left of an order of expiry is used', [
    holders,
    'if many and leases > 0 then\n    first',
    'if many then\n    first',
  ]),
  fault('loss: inspect shows what is left', [inspect, 'if not agree() then', 'if false then']),
  fault('loss: the expired are not told from the others', [
    inspect,
    'if one.place > now then',
    'if true then',
  ]),
];
