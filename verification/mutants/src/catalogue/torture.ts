/**
 * The catalogue for the torture test on a real server. Client mistakes are the same edits; store
 * mistakes are edits of the Lua scripts.
 */
import type { Edit, Mutant } from '../mutant.js';
import { SCRIPTS } from '../plant.js';
import { MUTANTS, REVIEWED } from './all.js';
import { HOSTILE } from './hostile.js';
import { PRODUCTION } from './production.js';
import { QUORUM } from './quorum.js';
import { REGISTER } from './register.js';
import { ROOTS_IN_STORE } from './roots.js';

import { STORE } from './store.js';
import { TESTED } from './tested.js';
import { TRIED } from './trials.js';

const lua = (find: string, replace: string): Edit => ({ file: SCRIPTS, find, replace });
const shared = (find: string, replace: string): Edit => ({ ...lua(find, replace), every: true });

/** The Lua edits that replace the edits of the TypeScript engine. */
const INSTEAD: Readonly<Record<string, readonly Edit[]>> = {
  'release without compare': [
    lua(
      'local held = lease_of(id)\nlocal status\nif held then',
      'local held = lease_of(id) or sole\nlocal status\nif held then',
    ),
    lua('is_own = holder == id and expires > now', 'is_own = expires > now'),
  ],
  'not idempotent': [
    lua('local held = lease_of(id)\nlocal function', 'local held\nlocal function'),
  ],
  'fence from a lost counter': [
    lua('local own = math.max(last + 1, now)', 'local own = last + 1'),
    lua(
      'granted_fence = kept_until(forget, now + ttl * 1000), math.max(last + 1, now)',
      'granted_fence = kept_until(forget, now + ttl * 1000), last + 1',
    ),
    shared('math.max(fence + 1, now), math.min(ttl', 'fence + 1, math.min(ttl'),
    shared('return math.max(fence + 1, now), hand_offs', 'return fence + 1, hand_offs'),
  ],
  'expired holders count': [
    shared(
      'lapse(h, h.expires)\nremove(h, ordered)\n',
      'lapse(h, h.expires)\nremove(h, ordered)\nused = used + 1\n',
    ),
  ],
  'renewal revives': [
    lua(
      'extend(held, id, now + ttl * 1000)\nend\nserve',
      [
        'extend(held, id, now + ttl * 1000)\nelse',
        'if sole then remove(sole) end',
        "held = grant({ id = id, owner = '', weight = 1, channel = '', meta = '', ttl = ttl,",
        'fair = 1, hand_offs = 0 }, ttl)',
        'end\nserve',
      ].join('\n'),
    ),
    lua(
      'if held then extend(held, id, now + full) end',
      [
        'if held then extend(held, id, now + full) else',
        'if sole then remove(sole) end',
        "held = grant({ id = id, owner = '', weight = 1, channel = '', meta = '', ttl = ttl,",
        'fair = 1, hand_offs = 0 }, ttl)',
        'end',
      ].join('\n'),
    ),
  ],
  'release does not serve': [
    lua("and 'dequeued' or 'absent'\nend\nserve('')", "and 'dequeued' or 'absent'\nend"),
    lua('if is_own then\nlocal first', 'if false then\nlocal first'),
  ],
  'forced release does not serve': [
    lua("'r ' .. one[2]) end\nend\nserve('')", "'r ' .. one[2]) end\nend"),
  ],
  'stale queue head': [
    shared("redis.call('ZRANGE', queue, 0, 0)[1]", "redis.call('ZRANGE', queue, -1, -1)[1]"),
    shared("redis.pcall('ZPOPMIN', queue)", "redis.pcall('ZPOPMAX', queue)"),
  ],
  'dead waiter is not skipped': [
    shared('publish_here(channel, message) ~= 0', 'publish_here(channel, message) ~= -1'),
  ],
  'withdrawal leaves the queue alone': [
    lua("status = withdraw(id) and 'dequeued'", "status = false and 'dequeued'"),
  ],
  'over the capacity': [
    shared('return used + weight <= capacity and', 'return used <= capacity and'),
    lua("if holder == '' and queued == 0 then", 'if queued == 0 then'),
  ],
};

/** Mistakes that one machine cannot provoke, each with the reason. */
export const BEYOND: Readonly<Record<string, string>> = {
  'no margin for drift': 'all processes and servers use one clock, which has one speed',
  'sleep is not noticed': 'the machine is not suspended',
  'doubt that ends without the fence': 'the machine is not suspended',
  'a deadline that begins at the call': 'the torture test has no bursts',
  'an end overtakes its key': 'the torture test has no bursts',
  'a lease from before its request waited': 'the torture test has no bursts',
  'replies without proof': 'no client of the torture test gives replies to other commands',
  'repeated while it is on its way': 'the torture test has no cluster',
  ...Object.fromEntries(
    [...TESTED, ...PRODUCTION, ...HOSTILE].map(({ name }) => [name, 'covered by the named test']),
  ),
  ...Object.fromEntries(TRIED.map(({ mutant, trial }) => [mutant, `found by the trial ${trial}`])),
  ...Object.fromEntries(
    ROOTS_IN_STORE.map(({ name }) => [name, 'covered by the comparison of the engines']),
  ),
  ...Object.fromEntries(REVIEWED.map(({ name }) => [name, 'covered by a test on servers'])),
  ...Object.fromEntries(
    [...QUORUM, ...REGISTER].map(({ name }) => [name, 'the torture test uses one server']),
  ),
};

const STORES = new Set(STORE.map(({ name }) => name));

/** Mutants that the torture test can find. */
export const TORTURED: readonly Mutant[] = MUTANTS.filter(({ name }) => !(name in BEYOND)).map(
  (mutant) => {
    const { name } = mutant;
    if (!STORES.has(name)) return mutant;
    const edits = INSTEAD[name];
    if (edits === undefined)
      throw new Error(`mutant "${name}" has no script edits: add them to INSTEAD`);
    return { ...mutant, edits };
  },
);
