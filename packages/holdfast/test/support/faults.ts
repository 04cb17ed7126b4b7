/**
 * Mistakes that could have been made in the scripts, each as a change of their text. The
 * differential test must notice every one of them: that is what it is worth.
 */
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

const acquire = 'acquire.lua';
const release = 'release.lua';
const renew = 'renew.lua';
const poll = 'poll.lua';
const force = 'force.lua';
const inspect = 'inspect.lua';
const park = 'park.lua';
const signal = 'signal.lua';
const parking = 'lib/parking.lua';
const record = 'lib/record.lua';
const holders = 'lib/holders.lua';
const holds = 'lib/holds.lua';
const serve = 'lib/serve.lua';

const free = 'return used + weight <= capacity and waiting == 0';
const listed = 'if read_hold(w.id) ~= h.id then';

export const FAULTS: readonly Fault[] = [
  fault('acquire: a newcomer overtakes the queue', [
    acquire,
    free,
    free.replace(' and waiting == 0', ''),
  ]),
  fault('acquire: one permit too many', [acquire, free, free.replace('<= ', '< 1 + 1 + ')]),
  fault('acquire: a queue one longer than allowed', [acquire, '>= max_queue', '> max_queue']),
  fault('acquire: a repeat joins the queue again', [acquire, 'if waiter then', 'if false then']),
  fault('acquire: the waiter keeps its old channel', [
    acquire,
    'waiter.channel, waiter.token = channel, token',
    'waiter.token = token',
  ]),
  fault('acquire: an owner does not join', [serve, 'if not own then return', 'do return']),
  fault('acquire: who joined stays queued', [serve, 'local w = dequeue(wanted.id)', 'local w']),
  fault(
    'acquire: holds doubled on repeat',
    [acquire, 'if held then reply = granted(held) else', 'do'],
    [holders, listed, 'if true then'],
  ),
  fault('acquire: a repeat prolongs the lease', [
    acquire,
    'reply = granted(held)',
    'reply = granted(join(held, newcomer(), ttl))',
  ]),
  fault('acquire: a join serves nobody', [acquire, 'if reply or not (', 'if not (']),
  fault('acquire: who does not wait does not join', [acquire, 'if own then return own end', '']),
  fault('acquire: a mismatch serves nobody', [acquire, ' or not (agreed() or idle())', '']),
  fault('acquire: a smaller lease is joined', [
    serve,
    'if not joins(own, wanted.weight) then',
    'if false then',
  ]),
  fault('acquire: who waits must agree anew', [acquire, " or read('w:' .. id)", '']),
  fault('acquire: who cannot be granted is told nothing', [
    acquire,
    "return rejoin(newcomer()) or { 'mismatch', now, capacity }",
    "return { 'refused', now, 0 }",
  ]),
  fault('acquire: an idle capacity stays', [
    acquire,
    'if capacity ~= wanted_capacity and may_agree and idle() then',
    'if not known then',
  ]),
  fault('release: the id is not compared', [
    release,
    'local held = lease_of(id)',
    'local held = lease_of(id) or sole',
  ]),
  fault('release: the queue is not served', [release, "serve('')\n", '']),
  fault('release: hand_offs never run out', [release, 'h.hand_offs - 1', 'h.hand_offs']),
  fault('release: the fence is passed on', [release, 'h.fence + 1', 'h.fence']),
  fault('release: passed to an owner', [
    release,
    "successor.owner == '' and successor.weight == 1",
    'true',
  ]),
  fault('release: a queued id is not withdrawn', [release, 'elseif withdraw()', 'elseif false']),
  fault('renew: shortens', [renew, 'if held then extend', 'if held then held.expires = 0 extend']),
  fault('renew: revives', [
    renew,
    'drop_expired()\nlocal held = lease_of(id)',
    'local held = read_holder(id)',
  ]),
  fault('renew: the queue is not served', [renew, "serve('')\n", '']),
  fault('poll: the queue is not served', [poll, "serve('')\n", '']),
  fault('poll: the expired are kept', [poll, 'drop_expired()\n', '']),
  fault('poll: a stranger is queued', [poll, "if read('w:' .. id) then", 'do']),
  fault('force: the queue is not served', [force, "serve('')\n", '']),
  fault('force: the victim is not told', [force, "push(one[1], 'r ' .. one[2])", '']),
  fault('force: one id ends all', [force, "if id ~= '' then", 'if false then']),
  fault('force: a hold is no lease', [force, 'lease_of(id)', 'read_holder(id)']),
  fault('inspect: the expired are shown', [
    inspect,
    "local from = '(' .. at",
    "local from = '-inf'",
  ]),
  fault('inspect: the expired are counted', [inspect, 'weight = weight - h.weight', '']),
  fault('inspect: only those shown count', [
    inspect,
    'count, waiting, holders',
    'count, #waiters, holders',
  ]),
  fault('inspect: nobody is parked', [inspect, 'parked_count(), parked', '0, parked']),
  fault('poll: a parked one is a stranger', [poll, "read_parked(id) and 'parked' or", "''  and"]),
  fault('release: a parked id is not withdrawn', [release, 'return remove_parked(id)', 'return']),
  fault('release: a withdrawal swallows the signal', [
    release,
    'if w.signalled then unconsumed_signals[#unconsumed_signals + 1] = w.signalled end',
    '',
  ]),
  fault('acquire: taken over from the parked', [acquire, ' and parked_count() == 0', '']),
  fault('park: the lease stays', [park, 'leave(h, id)\n    --', '--']),
  fault('park: not its own alone', [park, 'holds > 1 or capacity', 'capacity']),
  fault('park: one more than allowed', [park, '>= max_parked', '> max_parked']),
  fault('park: a repeat gives up again', [park, 'elseif not lease_of(as) then', 'else']),
  fault('park: the parked keep their channel', [park, 'e.channel, e.token', 'e.chan, e.token']),
  fault('park: the queued keep their channel', [
    park,
    'w.channel, w.token = channel, token',
    'w.token = token',
  ]),
  fault('park: nobody comes back', [park, "refusal and want == 'permits'", 'refusal and false']),
  fault('park: the queue is not served', [park, 'serve(as)\n', '']),
  fault('park: whoever gives up keeps its place', [
    park,
    'remove_parked(as)\n  local w',
    'local w',
  ]),
  fault('park: giving up keeps the lease', [park, 'if h then leave(h, id) end', '']),
  fault('park: who gave up while queued swallows the signal', [
    park,
    'if w and w.signalled then unconsumed_signals[#unconsumed_signals + 1] = w.signalled end',
    '',
  ]),
  fault('park: everybody was signalled', [park, 'w.signalled and 1 or 0', '1']),
  fault('park: a grant forgets who brought it', [park, 'h.signalled and 1 or 0', '0']),
  fault('signal: a repeat wakes again', [signal, 'seq > (h.seq or 0)', 'true']),
  fault('signal: a late one is taken for the last', [
    signal,
    'if h.seq ~= seq then',
    'if false then',
  ]),
  fault('signal: strangers may', [signal, 'lease_of(id)', '(lease_of(id) or sole)']),
  fault('parking: the chain of all is not left', [
    parking,
    "  unlink('l', e, 'older', 'newer')\n  leave_process(id)\n  entries[id]",
    '  entries[id]',
  ]),
  fault('parking: the first stays the first', [
    parking,
    'change(e[back])[forth] = e[forth] else c.first = e[forth] end',
    'change(e[back])[forth] = e[forth] end',
  ]),
  fault('parking: the neighbour is not told', [
    parking,
    'change(e[forth])[back] = e[back] else',
    'else',
  ]),
  fault('holders: a crash swallows the signal', [
    holders,
    'if h.signalled then unconsumed_signals[#unconsumed_signals + 1] = h.signalled end',
    '',
  ]),
  fault('holders: release hand_offs the signal on', [
    holders,
    '  h.signalled = nil\n  remove',
    '  remove',
  ]),
  fault('serve: the dead are woken', [
    serve,
    "(e.channel == '' or push(e.channel, 's ' .. id)) then",
    "(e.channel == '' or push(e.channel, 's ' .. id) or true) then",
  ]),
  fault('serve: the woken are not told', [
    serve,
    "(e.channel == '' or push(e.channel, 's ' .. id)) then",
    'true then',
  ]),
  fault('serve: the last who parked wakes first', [
    serve,
    "chain('l:' .. condition).first",
    "chain('l:' .. condition).last",
  ]),
  fault('serve: one signal wakes two', [serve, 'woken >= count)', 'woken > count)']),
  fault('serve: the woken forget by what', [
    serve,
    'e.ticket, e.signalled = 0, condition',
    'e.ticket = 0',
  ]),
  fault('serve: a dead one swallows the signal', [
    serve,
    'if w.signalled then unconsumed_signals[#unconsumed_signals + 1] = w.signalled end\n' +
      '        redeliver_signals()',
    '',
  ]),
  fault('inspect: more holds than asked for', [inspect, 'and #ids < limit', '']),
  fault('inspect: one hold only', [inspect, '#ids < limit', '#ids < 1']),
  fault('holds: the first hold stays the first', [holds, 'first = after\n', '\n']),
  fault('holds: the last hold stays the last', [holds, 'last = before\n', '\n']),
  fault('holds: the hold before is not told', [
    holds,
    'save_hold(before, root, second, after, own, told)',
    '',
  ]),
  fault('holds: the hold after is not told', [
    holds,
    'save_hold(after, root, before, second, own, told)',
    '',
  ]),
  fault('holders: a hold stays when its lease has ended', [
    holders,
    "writes['r:' .. id] = false\n      id = after",
    'id = after',
  ]),
  fault('record: what is deleted stays', [record, "in_chunks('HDEL', deleted)", '']),
  fault('record: forgotten before the lease ends', [record, 'math.max(now, latest)', 'now']),
  fault('record: the known keep their expiry', [
    record,
    "  if known then redis.call('PEXPIREAT', resource, at) end",
    '',
  ]),
  fault('holders: < for <= at the expiry', [holders, 'sole.expires <= now', 'sole.expires < now']),
  fault('holders: < for <= among several', [
    holders,
    "string.format('%.0f', now)",
    "string.format('(%.0f', now)",
  ]),
  fault('holders: the fence is the time', [
    holders,
    'return math.max(fence + 1, now)',
    'return now',
  ]),
  fault('holders: the fence is a count', [
    holders,
    'return math.max(fence + 1, now)',
    'return fence + 1',
  ]),
  fault('holders: no fences for hand_offs', [holders, 'fence = own + hand_offs', 'fence = own']),
  fault('holders: hand_offs past the fair', [holders, ' or fair_waiting > 0', '']),
  fault('holders: what ends is still used', [holders, 'used - h.weight,', 'used,']),
  fault('holders: extending shortens', [holders, 'math.max(h.expires, expires)', 'expires']),
  fault('holders: an owner stays one', [
    holders,
    "if read('p:' .. h.owner) == h.id then writes['p:' .. h.owner] = false end",
    '',
  ]),
  fault('serve: the dead are granted', [serve, 'return receivers ~= 0', 'return true']),
  fault('serve: order by id', [serve, "'ZADD', queue, w.ticket", "'ZADD', queue, 0"]),
  fault('serve: tickets repeat', [serve, 'math.max(last_ticket + 1, now)', 'now']),
  fault('serve: the place is not given back', [serve, 'if w.ticket == 0 then', 'do']),
  fault('serve: one permit is never used', [
    serve,
    'used + w.weight > capacity then',
    'used + w.weight >= capacity then',
  ]),
  fault('serve: a waiter joins a smaller lease', [serve, 'own.weight >= weight', 'true']),
  fault('serve: one who asks for too much blocks all', [
    serve,
    ' or (not own and w.weight > capacity)',
    '',
  ]),
  fault('serve: a pushed lease is whole', [serve, 'or math.min(w.ttl, w.claim)', 'or w.ttl']),
  fault('serve: the fair wait for ever', [serve, 'fair_waiting - w.fair,', 'fair_waiting,']),
  fault('serve: the asker is not spared', [serve, 'if w.id == self then return true end', '']),
];

/** The changed files of a fault. Throws unless every text to change is there exactly once. */
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
