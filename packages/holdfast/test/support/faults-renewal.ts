/** Faults in the renewal of leases. See `faults.ts`. */
import { type Fault, fault } from './faults.js';

const renew = 'renew.lua';
const many = 'renewMany.lua';

export const RENEWAL_FAULTS: readonly Fault[] = [
  fault('renew: a renewal shortens the lease', [
    renew,
    'if held then extend',
    'if held then held.expires = 0 extend',
  ]),
  fault('renew: revives', [
    renew,
    'drop_expired()\nlocal held = lease_of(id)',
    'local held = read_holder(id)',
  ]),
  fault('renew: the queue is not served', [renew, "serve('')\n", '']),
  fault('renewMany: the id is not compared', [many, 'holder ~= id or ', '']),
  fault('renewMany: waiters are ignored', [many, ' or waiting > 0', '']),
  fault('renewMany: the owner is ignored', [many, "owner ~= '' or ", '']),
  fault('renewMany: revives', [many, 'expires <= now or ', '']),
  fault('renewMany: shortens the lease', [many, ' or latest > till', '']),
  fault('renewMany: the end of the resource always moves', [many, 'if call(', 'if true or call(']),
  fault('renewMany: the end of the resource never moves', [many, 'if call(', 'if false and call(']),
  fault('renewMany: the end moves too late', [
    many,
    'forget - retention / 2',
    'forget - retention * 3 / 4',
  ]),
  fault('renewMany: only one of two ends is written', [
    many,
    'before_expires) .. packed_till .. sub(seen, before_expires + 10)',
    'before_expires) .. sub(seen, before_expires + 1)',
  ]),
  fault('renewMany: the end always moves with all keys', [
    many,
    'return stored >= at - retention / 2 and stored or at',
    'return at',
  ]),
  fault('renewMany: the queue is not served', [many, "serve('')\n", '']),
];
