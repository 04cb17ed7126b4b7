/** Faults in the renewal of leases. See `faults.ts`. */
import { type Fault, fault } from './faults.js';

const renew = 'renew.lua';
const many = 'short/renew-many.lua';
const renewMany = 'renewMany.lua';
const kept = 'lib/kept.lua';

export const RENEWAL_FAULTS: readonly Fault[] = [
  fault('renew: a renewal shortens the lease', [
    renew,
    '  extend(held, id,',
    '  held.expires = 0 extend(held, id,',
  ]),
  fault('renew: revives', [
    renew,
    'drop_expired()\nlocal held = lease_of(id)',
    'local held = read_holder(id)',
  ]),
  fault('renew: the channel is not recorded', [renew, 'address(held, id, channel)', '']),
  fault('renew: the tasks are not recorded', [renew, 'tasks or held.tasks', 'held.tasks']),
  fault('renew: the short path ignores the channel', [
    'short/renew.lua',
    'is_plain and not channel',
    'is_plain',
  ]),
  fault('renew: the channel of a hold becomes that of the first one', [
    'lib/holders.lua',
    "if h.owner == '' then h.channel = channel else link(id, 5, channel) end",
    'h.channel = channel',
  ]),
  fault('renew: the queue is not served', [renew, "serve('')\n", '']),
  fault('renewMany: the id is not compared', [many, 'holder ~= id or ', '']),
  fault('renewMany: revives', [many, 'expires <= now or ', '']),
  fault('renewMany: shortens the lease', [many, 'if lasts then return expires - now end', '']),
  fault('renewMany: the end of the queue stays', [many, '(lasts or queued > 0)', 'lasts']),
  fault('renewMany: the end of the resource never moves', [many, 'if moves then', 'if false then']),
  fault('renewMany: the record has the old end', [
    many,
    'expires = till, kept = kept',
    'expires = till, kept = forget',
  ]),
  fault('renewMany: the queue is not served', [renewMany, "serve('')\n", '']),
  fault('record: the end always moves', [
    kept,
    'if stored and stored >= least and',
    'if false and',
  ]),
  fault('record: the end moves too late', [kept, 'stored >= least and', 'stored >= least - 5 and']),
  fault('record: the end never comes nearer', [kept, 'stored <= least + retention', 'true']),
  fault('record: the end comes nearer while a waiter is parked', [kept, 'parked or ', '']),
  fault('record: the end moves by half the retention more than it must', [
    kept,
    'stored and least +',
    'least +',
  ]),
];
