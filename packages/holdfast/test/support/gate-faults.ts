/** Possible mistakes in the scripts of gates. The differential test must detect each. */
import type { Fault } from './faults.js';

const arrive = 'arrive.lua';
const watch = 'watch.lua';
const endGeneration = 'endGeneration.lua';
const args = 'lib/gate-arguments.lua';
const gate = 'lib/gate.lua';

function fault(name: string, file: string, from: string, to: string): Fault {
  return { name: `${file}: ${name}`, edits: [[file, from, to]] };
}

export const GATE_FAULTS: readonly Fault[] = [
  fault(
    'a repeated arrival counts again',
    arrive,
    "'HEXISTS', arrivals, id) == 0",
    "'HLEN', gate) > 0",
  ),
  fault('those who wait are not counted', gate, "redis.call('HLEN', gate) - 1 or 0", '0 or 0'),
  fault('a change is not saved', gate, 'if summary == seen then', 'if seen then'),
  fault('opens one too early', arrive, 'g.missing - by)', 'g.missing - by - 1)'),
  fault('each arrival counts one', arrive, 'g.missing - by)', 'g.missing - 1)'),
  fault('an arrival of an old generation counts', gate, 'generation < g.since then', 'false then'),
  fault('an arrival of any generation counts', args, 'local generation', 'local _'),
  fault('an open latch sends no push', arrive, 'if g.missing == 0 then tell', 'if false then tell'),
  fault('an arrival at a barrier does not end', arrive, "extend(id, now + ttl * 1000, 'CH')", ''),
  fault(
    'an arrival does not prolong a latch',
    arrive,
    'and now or math.max(g.ends, now + ttl * 1000)',
    'and now or g.ends',
  ),
  fault('another count is accepted', arrive, 'not suits(count)', 'false'),
  fault('due work is not done', arrive, 'break_expired()\n', ''),
  fault('watch creates a gate', watch, 'if count == 0 then return none(generation) end', ''),
  fault('another count is accepted by watch', watch, 'not suits(count)', 'false'),
  fault('strangers are kept alive', watch, "'XX'", "'CH'"),
  fault('watch keeps no arrival alive', watch, "extend(id, now + ttl * 1000, 'XX')", ''),
  fault('watch does not register the channel', watch, 'listen()', ''),
  fault('due work is not done by watch', watch, 'break_expired()\n', ''),
  fault(
    'the end of an old generation ends this one',
    endGeneration,
    'generation == g.generation and',
    '',
  ),
  fault('an idle latch is not reset', endGeneration, 'g.ends = now + ttl * 1000', ''),
  fault('another count ends the generation', endGeneration, 'not suits(count)', 'false'),
  fault('only the own count deletes', endGeneration, "reason ~= 'deleted' and ", ''),
  fault('a deleted gate ends again', endGeneration, ' and g.count > 0', ''),
  fault('a deleted gate is open', gate, 'generation == g.generation and g.count == 0', 'false'),
  fault('a deleted gate keeps its kind', gate, 'g.count > 0 and g.kind', 'g.kind'),
  fault(
    'an old generation revives a deleted gate',
    gate,
    '(generation == g.generation or',
    '(true or',
  ),
  fault(
    'a late arrival shortens a latch',
    arrive,
    'math.max(g.ends, now + ttl * 1000)',
    'now + ttl * 1000',
  ),
  fault(
    'a late arrival shortens the memory',
    arrive,
    'math.max(g.retention, retention)',
    'retention',
  ),
  fault(
    'a number between two generations is unknown',
    gate,
    'if g.past ~= 0 and generation > g.past and',
    'if false and',
  ),
  fault('the reason is wrong', endGeneration, '(reason, count)', "('expired', count)"),
  fault(
    'a push is sent twice to a channel',
    gate,
    "redis.call('HDEL', gate, unpack(",
    "redis.call('HMGET', gate, unpack(",
  ),
  fault('the order of channels is not fixed', gate, 'table.sort(fields)', ''),
  fault('a push has no token', gate, 'head .. tokens[field]', 'head'),
  fault(
    'the token of a channel is not stored',
    gate,
    "'c:' .. channel, token)",
    "'c:' .. channel, '')",
  ),
  fault(
    'a breach is sent as an opening',
    gate,
    "== 'broken' and 'b' or 'o'",
    "== 'x' and 'b' or 'o'",
  ),
  fault('breaches are never forgotten', gate, 'if #g.broken <=', 'if true or #g.broken <='),
  fault(
    'a forgotten breach counts as open',
    gate,
    'g.since = table.remove(g.broken, 1) + 1',
    'table.remove(g.broken, 1)',
  ),
  fault(
    'a breach is not recorded',
    gate,
    "if fate(g.generation) == 'closed' then remember(why) end",
    '',
  ),
  fault('generations are not unique', gate, 'math.max(ended + 1, now)', 'now'),
  fault('generations are a counter', gate, 'math.max(ended + 1, now)', 'ended + 1'),
  fault('arrivals stay for the next generation', gate, "redis.call('RENAME', arrivals, past)", ''),
  fault('expiries stay for the next generation', gate, "redis.call('DEL', expiries)", ''),
  fault(
    'the generation before the last is kept',
    gate,
    "else\n    redis.call('DEL', past)",
    'else',
  ),
  fault('an arrival does not register the channel', arrive, 'listen()', ''),
  fault('< for <= at the expiry', gate, 'due and due <= now', 'due and due < now'),
  fault('< for <= at the end of a latch', gate, 'g.ends > now then', 'g.ends >= now then'),
  fault('a renewal may shorten an arrival', gate, "which, 'GT', 'CH'", "which, 'CH'"),
  fault('the end of a barrier does not move', gate, 'if ends > g.ends then', 'if false then'),
  fault('the end of a barrier moves with each poll', gate, 'g.retention * 500', '0'),
  fault('the next expiry is the old one', gate, 'first[1] == id or ', ''),
  fault(
    'an arrival that ends first is not seen',
    gate,
    ' or ends < (tonumber(first[2]) or math.huge)',
    '',
  ),
  fault('a new token is not stored', gate, 'known == token', 'known'),
  fault('a channel was told, and is not stored again', gate, '  known = false\n', ''),
  fault(
    'the next generation begins with the old expiry',
    gate,
    '  first = nil\n  g.past',
    '  g.past',
  ),
  fault('an open latch breaks', gate, "if fate(g.generation) ~= 'closed' or g.ends", 'if g.ends'),
  fault('an idle barrier keeps its count', gate, "g.kind == 'barrier' and", 'false and'),
  fault('a latch accepts any count', gate, "(g.kind == 'barrier' and ", '('),
  fault(
    'the indexes are those of another generation',
    gate,
    'generation == g.generation and arrivals or past',
    'arrivals',
  ),
  fault(
    'all keys but one expire',
    gate,
    '{ gate, arrivals, past, expiries }',
    '{ gate, arrivals, past }',
  ),
];
