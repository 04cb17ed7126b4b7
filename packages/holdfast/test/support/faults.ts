/** Possible mistakes in the scripts, as changes of their text. The differential test finds each. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FOLDER } from './differential.js';

type Edit = readonly [file: string, from: string, to: string];

export interface Fault {
  readonly name: string;
  readonly edits: readonly Edit[];
}

export function fault(name: string, ...edits: Edit[]): Fault {
  return { name, edits };
}

const acquire = 'lib/acquire.lua';
const release = 'lib/release.lua';
const poll = 'poll.lua';
const force = 'forceRelease.lua';
const inspect = 'inspect.lua';
const record = 'lib/record.lua';
const holders = 'lib/holders.lua';
const holds = 'lib/holds.lua';
const serve = 'lib/serve.lua';
const push = 'lib/push.lua';
const waiters = 'lib/waiters.lua';

const free = 'return fits(weight) and waiting == 0';
const fits = 'return used + weight <= capacity and not (sole and sole.hand_offs > 0)';
const listed = 'if read_hold(w.id) ~= h.id then';

export const FAULTS: readonly Fault[] = [
  fault('acquire: a newcomer overtakes the queue', [
    acquire,
    free,
    free.replace(' and waiting == 0', ''),
  ]),
  fault('holders: one permit too many', [holders, fits, fits.replace('<= ', '< 1 + 1 + ')]),
  fault('acquire: the queue is one longer than allowed', [acquire, '>= max_queue', '> max_queue']),
  fault('acquire: a repeat joins the queue again', [acquire, 'if waiter then', 'if false then']),
  fault('acquire: the waiter keeps its old channel', [
    acquire,
    'waiter.channel, waiter.token, waiter.tasks = channel, token, tasks',
    'waiter.token, waiter.tasks = token, tasks',
  ]),
  fault('acquire: an owner does not join', [serve, 'if not own then return', 'do return']),
  fault('acquire: an acquisition that joined stays queued', [
    serve,
    'local w = dequeue(wanted.id)',
    'local w',
  ]),
  fault(
    'acquire: a repeat doubles the holds',
    [acquire, 'if held then reply = granted(held, id) elseif agreed() then', 'if agreed() then'],
    [holders, listed, 'if true then'],
  ),
  fault('acquire: a repeat prolongs the lease', [
    acquire,
    'reply = granted(held, id)',
    'reply = granted(join(held, newcomer(), ttl), id)',
  ]),
  fault('acquire: a lock joins a lease of another kind', [acquire, 'elseif agreed() then', 'else']),
  fault('acquire: a join does not serve the queue', [acquire, 'if reply or not (', 'if not (']),
  fault('acquire: an acquisition that does not wait does not join', [
    acquire,
    'if own then return own end',
    '',
  ]),
  fault('acquire: a mismatch does not serve the queue', [
    acquire,
    ' or not (agreed() or idle())',
    '',
  ]),
  fault('acquire: an owner joins a lease of lower weight', [
    serve,
    'if not joins(own, wanted.weight) then',
    'if false then',
  ]),
  fault('acquire: a queued waiter must agree on the capacity again', [
    acquire,
    " or read('w:' .. id)",
    '',
  ]),
  fault('acquire: a waiter above the capacity gets a plain refusal', [
    acquire,
    "return rejoin(newcomer()) or { 'mismatch', now, capacity, kind }",
    "return { 'refused', now, 0 }",
  ]),
  fault('acquire: the capacity of an idle resource stays', [
    acquire,
    'if may_agree and idle() then',
    'if not known then',
  ]),
  fault('release: the id is not compared', [
    release,
    'local held = lease_of(id)',
    'local held = lease_of(id) or sole',
  ]),
  fault('release: the queue is not served', [release, "serve('')\n", '']),
  fault('release: a queued id is not withdrawn', [
    release,
    "withdraw(id) and 'dequeued'",
    "false and 'dequeued'",
  ]),
  fault('poll: the queue is not served', [poll, "serve('')\n", '']),
  fault('poll: expired leases are kept', [poll, 'drop_expired()\n', '']),
  fault('poll: an unknown id is queued', [poll, "if read('w:' .. id) then", 'do']),
  fault('force: the queue is not served', [force, "serve('')\n", '']),
  fault('force: the holder is not notified', [force, "push(one[1], 'r ' .. one[2])", '']),
  fault('force: a call for one id ends all leases', [force, "if id ~= '' then", 'if false then']),
  fault('force: the id of a hold is not found', [force, 'lease_of(id)', 'read_holder(id)']),
  fault('inspect: expired leases are shown', [
    inspect,
    "local from = '(' .. at",
    "local from = '-inf'",
  ]),
  fault('inspect: expired leases are counted', [inspect, 'weight = weight - h.weight', '']),
  fault('inspect: only the listed waiters are counted', [
    inspect,
    'count, waiting, holders',
    'count, #waiters, holders',
  ]),
  fault('inspect: parked acquisitions are missing', [
    inspect,
    'parked_count(), parked',
    '0, parked',
  ]),
  fault('poll: a parked id is unknown', [poll, "read_parked(id) and 'parked' or", "''  and"]),
  fault('release: a parked id is not withdrawn', [serve, 'return remove_parked(id)', 'return']),
  fault('release: a withdrawal drops the signal', [
    serve,
    '  if w.signalled then unconsumed_signals[#unconsumed_signals + 1] = w.signalled end\n' +
      '  return true',
    '  return true',
  ]),
  fault('acquire: the capacity changes while others are parked', [
    acquire,
    ' and parked_count() == 0',
    '',
  ]),
  fault('holders: a crash drops the signal', [
    holders,
    'if h.signalled then unconsumed_signals[#unconsumed_signals + 1] = h.signalled end',
    '',
  ]),
  fault('holders: a release redelivers the signal', [
    holders,
    '  h.signalled = nil\n  remove',
    '  remove',
  ]),
  fault('serve: dead parked acquisitions are woken', [
    serve,
    "(e.channel == '' or push(e.channel, 's ' .. id)) then",
    "(e.channel == '' or push(e.channel, 's ' .. id) or true) then",
  ]),
  fault('serve: woken acquisitions are not notified', [
    serve,
    "(e.channel == '' or push(e.channel, 's ' .. id)) then",
    'true then',
  ]),
  fault('serve: the last parked acquisition wakes first', [
    serve,
    "chain('l:' .. condition).first",
    "chain('l:' .. condition).last",
  ]),
  fault('serve: one signal wakes two', [serve, 'woken >= count)', 'woken > count)']),
  fault('serve: a woken acquisition loses its condition', [
    serve,
    'e.ticket, e.signalled = 0, condition',
    'e.ticket = 0',
  ]),
  fault('serve: a dead waiter drops the signal', [
    serve,
    'if w.signalled then unconsumed_signals[#unconsumed_signals + 1] = w.signalled end\n' +
      '        redeliver_signals()',
    '',
  ]),
  fault('inspect: more holds than the limit', [inspect, 'and #ids < limit', '']),
  fault('inspect: only one hold', [inspect, '#ids < limit', '#ids < 1']),
  fault('holds: a removed first hold stays first', [
    holds,
    'first = after else',
    'first = first else',
  ]),
  fault('holds: a removed last hold stays last', [holds, 'last = before else', 'last = last else']),
  fault('holds: the previous hold is not updated', [
    holds,
    'else link(before, 3, after) end',
    'end',
  ]),
  fault('holds: the next hold is not updated', [holds, 'else link(after, 2, before) end', 'end']),
  fault('holders: a hold stays after its lease ended', [
    holders,
    "writes['r:' .. id] = false\n      id = after",
    'id = after',
  ]),
  fault('record: deleted fields stay', [record, "in_chunks('HDEL', deleted)", '']),
  fault('record: the record expires before the lease', [record, 'math.max(now, latest)', 'now']),
  fault('record: a known key keeps its old expiry', [
    record,
    "  if known then redis.call('PEXPIREAT', resource, at) end",
    '',
  ]),
  fault('holders: < for <= at the expiry', [holders, 'due_of(sole) <= now', 'due_of(sole) < now']),
  fault('holders: < for <= at the expiry of several leases', [
    holders,
    "string.format('%.0f', now)",
    "string.format('(%.0f', now)",
  ]),
  fault('holders: the fence is the time', [
    holders,
    'return math.max(fence + 1, now)',
    'return now',
  ]),
  fault('holders: the fence is a counter', [
    holders,
    'return math.max(fence + 1, now)',
    'return fence + 1',
  ]),
  fault('holders: no fences are reserved for hand-offs', [
    holders,
    'fence = own + hand_offs',
    'fence = own',
  ]),
  fault('holders: hand-offs skip fair waiters', [
    holders,
    'w.fair == 0 and fair_waiting > 0',
    'false',
  ]),
  fault('holders: the permits of an ended lease stay in use', [
    holders,
    'used - h.weight,',
    'used,',
  ]),
  fault('holders: a renewal may shorten the lease', [
    holders,
    'math.max(h.expires, expires)',
    'expires',
  ]),
  fault('holders: an ended lease keeps its owner entry', [
    holders,
    "if read('p:' .. h.owner) == h.id then writes['p:' .. h.owner] = false end",
    '',
  ]),
  fault(
    'serve: dead waiters are granted',
    [
      push,
      'return publish_here(channel, message) ~= 0',
      'publish_here(channel, message) return true',
    ],
    [push, 'if not has_subscribers(channel) then return false end', ''],
  ),
  fault('serve: order by id', [serve, "'ZADD', queue, w.ticket", "'ZADD', queue, 0"]),
  fault('serve: tickets are not unique', [waiters, 'math.max(last_ticket + 1, now)', 'now']),
  fault('serve: the last permit is never granted', [
    serve,
    'not fits(w.weight) then',
    'not fits(w.weight + 1) then',
  ]),
  fault('serve: a waiter joins a lease of lower weight', [serve, 'own.weight >= weight', 'true']),
  fault('serve: a waiter above the capacity blocks the queue', [
    serve,
    ' or (not own and w.weight > capacity)',
    '',
  ]),
  fault('serve: a pushed grant lasts the whole ttl', [
    serve,
    'or math.min(w.ttl, w.claim)',
    'or w.ttl',
  ]),
  fault('serve: the count of fair waiters is too high', [
    serve,
    'fair_waiting - w.fair,',
    'fair_waiting,',
  ]),
  fault('serve: the caller of the command is skipped as dead', [
    serve,
    'if w.id == self then return true end',
    '',
  ]),
];

/** The changed files of a fault. Throws unless each text to change occurs exactly once. */
export function faulty({ name, edits }: Fault): Record<string, string> {
  const files: Record<string, string> = {};
  for (const [file, from, to] of edits) {
    const text = files[file] ?? readFileSync(join(FOLDER, file), 'utf8');
    const found = text.split(from).length - 1;
    if (found !== 1) throw new Error(`${name}: found ${found} times in ${file}: ${from}`);
    files[file] = text.replace(from, () => to);
  }
  return files;
}
