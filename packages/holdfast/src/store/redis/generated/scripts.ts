// Made by tools/generate-lua.mjs from ../scripts. Do not edit; run `npm run build`.

/** A Lua script as the server gets it. */
export interface Script {
  readonly name: string;
  /** SHA-1 of `source`. */
  readonly sha: string;
  readonly source: string;
  readonly keys: readonly string[];
  /** If the last name ends in `...`, it stands for any number of arguments. */
  readonly args: readonly string[];
}

export const scripts = {
  acquire: {
    name: 'acquire',
    sha: '20e5abbe398cd781265b133717ee2f47530cd178',
    keys: ['resource', 'queue', 'expiries'],
    args: [
      'id',
      'owner',
      'weight',
      'wanted_capacity',
      'ttl',
      'claim',
      'fair',
      'passes',
      'channel',
      'wait',
      'ticket',
      'max_queue',
      'retention',
      'meta',
    ],
    source: `local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]
local owner = ARGV[2]
local weight = ARGV[3]
local wanted_capacity = ARGV[4]
local ttl = tonumber(ARGV[5])
local claim = ARGV[6]
local fair = ARGV[7]
local passes = tonumber(ARGV[8])
local channel = ARGV[9]
local wait = ARGV[10] == '1'
local ticket = ARGV[11]
local max_queue = ARGV[12]
local retention = tonumber(ARGV[13])
local meta = ARGV[14]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local seen = redis.call('HGET', resource, 's')
if wanted_capacity == '1' and owner == '' then
local _, last, last_ticket, used = 1, 0, 0, 0
if seen then _, last, last_ticket, used = cmsgpack.unpack(seen) end
if used == 0 and (last_ticket == 0 or redis.call('ZCARD', queue) == 0) then
local own, expires = math.max(last + 1, now), now + ttl * 1000
if fair == '1' then passes = 0 end
local at = math.floor((expires + retention * 1000) / 1000)
if seen then redis.call('PEXPIREAT', resource, at) end
redis.call('HSET', resource, 's', cmsgpack.pack(
1, own + passes, last_ticket, 1, expires, 0,
id, expires, 1, own, passes, ttl, now, '', '', channel, meta))
if not seen then redis.call('PEXPIREAT', resource, at) end
if own == now then return now end
return { 'granted', now, own, ttl * 1000, passes, 1 }
end
end
weight, wanted_capacity, claim = tonumber(weight), tonumber(wanted_capacity), tonumber(claim)
fair, ticket, max_queue = tonumber(fair), tonumber(ticket), tonumber(max_queue)
local CHUNK = 1000
local known = seen and true
local loaded, writes = {}, {}
local capacity, fence, last_ticket, used, latest, fair_waiting = 0, 0, 0, 0, 0, 0
local sole -- the only lease of a mutex
local many = false
if known then
local h = {}
capacity, fence, last_ticket, used, latest, fair_waiting, h.id, h.expires, h.weight, h.fence,
h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta, h.signalled, h.seq, h.woken,
h.left = cmsgpack.unpack(seen)
sole = h.id and h
if h.signalled == '' then h.signalled = nil end
many = capacity ~= 1 or (used > 0 and not sole)
local names = { 'h:' .. id, 'w:' .. id, 'r:' .. id, 'l' }
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
end
local function read(field)
local value = writes[field]
if value == nil then value = loaded[field] end
if value == nil then
value = redis.call('HGET', resource, field)
loaded[field] = value
end
return value
end
local function forget_at(retention)
return math.floor((math.max(now, latest) + retention * 1000) / 1000)
end
local guarded = false
local function guard()
if known and not guarded then redis.call('PEXPIREAT', resource, forget_at(retention)) end
guarded = true
end
local function with_signals(h)
if not h.signalled and not h.seq then return h.meta end
return h.meta, h.signalled or '', h.seq or 0, h.woken or 0, h.left or 0
end
local function pack_summary()
if not sole then
return cmsgpack.pack(capacity, fence, last_ticket, used, latest, fair_waiting)
end
return cmsgpack.pack(
capacity, fence, last_ticket, used, latest, fair_waiting, sole.id, sole.expires, sole.weight,
sole.fence, sole.passes, sole.ttl, sole.since, sole.owner, sole.holds, sole.channel,
with_signals(sole))
end
local function in_chunks(command, list)
for from = 1, #list, CHUNK do
redis.call(command, resource, unpack(list, from, math.min(from + CHUNK - 1, #list)))
end
end
local collect
local function flush()
collect()
local at = forget_at(retention)
if known then redis.call('PEXPIREAT', resource, at) end
writes.s = pack_summary()
local set, deleted = {}, {}
for field, value in pairs(writes) do
if value then
set[#set + 1] = field
set[#set + 1] = value
elseif loaded[field] then
deleted[#deleted + 1] = field
end
end
in_chunks('HDEL', deleted)
in_chunks('HSET', set)
if not known then redis.call('PEXPIREAT', resource, at) end
if last_ticket > 0 then redis.call('PEXPIREAT', queue, at) end
if many then redis.call('PEXPIREAT', expiries, at) end
end
local entries, chains, changed = {}, {}, {}
local function chain(name)
local c = chains[name]
if not c then
c = { first = '', last = '', count = 0 }
local packed = known and (name == 'l' or chain('l').count > 0) and read(name)
if packed then c.first, c.last, c.count = cmsgpack.unpack(packed) end
chains[name] = c
end
return c
end
local function parked_count()
return chain('l').count
end
local function read_parked(id)
if entries[id] == nil then
local packed = parked_count() > 0 and read('c:' .. id)
local e = packed and { id = id }
if e then
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer = cmsgpack.unpack(packed)
end
entries[id] = e
end
return entries[id] or nil
end
local function change(id)
changed[id] = true
return read_parked(id)
end
local function link(name, e, back, forth)
local c = chain(name)
e[back], e[forth] = c.last, ''
if c.last ~= '' then change(c.last)[forth] = e.id else c.first = e.id end
c.last, c.count, c.changed = e.id, c.count + 1, true
end
local function unlink(name, e, back, forth)
local c = chain(name)
if e[back] ~= '' then change(e[back])[forth] = e[forth] else c.first = e[forth] end
if e[forth] ~= '' then change(e[forth])[back] = e[back] else c.last = e[back] end
c.count, c.changed = c.count - 1, true
end
local function add_parked(e)
link('l:' .. e.condition, e, 'ahead', 'behind')
link('l', e, 'older', 'newer')
entries[e.id], changed[e.id] = e, true
end
local function remove_parked(id)
local e = read_parked(id)
if not e then return nil end
unlink('l:' .. e.condition, e, 'ahead', 'behind')
unlink('l', e, 'older', 'newer')
entries[id], changed[id] = false, true
return e
end
local function hear(id)
local e = read_parked(id)
if not e or e.till - now >= retention * 500 then return end
unlink('l', e, 'older', 'newer')
link('l', e, 'older', 'newer')
e.till, changed[id] = now + retention * 1000, true
end
local function drop_silent(limit)
for _ = 1, limit do
local id = chain('l').first
if id == '' or read_parked(id).till > now then return end
remove_parked(id)
end
end
collect = function()
for id in pairs(changed) do
local e = entries[id]
writes['c:' .. id] = e and cmsgpack.pack(
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer)
end
for name, c in pairs(chains) do
if c.changed then
writes[name] = c.count > 0 and cmsgpack.pack(c.first, c.last, c.count)
end
end
end
local EXPIRE_LIMIT = 1000
local owed = {}
local function read_holder(id)
if not many then return sole and sole.id == id and sole or nil end
local packed = read('h:' .. id)
if not packed then return nil end
local h = { id = id }
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta,
h.signalled, h.seq, h.woken, h.left = cmsgpack.unpack(packed)
if h.signalled == '' then h.signalled = nil end
return h
end
local function save_holder(h)
if not many then
sole = h
return
end
writes['h:' .. h.id] = cmsgpack.pack(
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel,
with_signals(h))
end
local function hold_count(h)
if h.owner == '' then return 1 end
local _, spaces = string.gsub(h.holds, '[^ ]+', '')
return spaces
end
local function lease_of(id)
local root = read('r:' .. id)
local h = read_holder(root or id)
if not h or h.expires <= now or (h.owner ~= '' and not root) then return nil end
return h
end
local function lease_of_owner(owner)
local root = owner ~= '' and read('p:' .. owner)
local h = root and read_holder(root)
if not h or h.expires <= now then return nil end
return h
end
local more = false
local function next_expiry()
local first = sole and sole.expires
if more then return 0 end
if many then first = tonumber(redis.call('ZRANGE', expiries, 0, 0, 'WITHSCORES')[2]) end
return first and math.max(0, first - now) or 0
end
local function extend(h, expires)
h.expires = math.max(h.expires, expires)
save_holder(h)
if many then
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
latest = math.max(latest, h.expires)
end
local function add(h)
used = used + h.weight
if h.owner ~= '' then
writes['p:' .. h.owner], writes['r:' .. h.id], h.holds = h.id, h.id, ' ' .. h.id .. ' '
end
extend(h, h.expires)
return h
end
local function remove(h, ordered)
if h.signalled then owed[#owed + 1] = h.signalled end
if h.owner ~= '' then
if read('p:' .. h.owner) == h.id then writes['p:' .. h.owner] = false end
for id in string.gmatch(h.holds, '[^ ]+') do
if read('r:' .. id) == h.id then writes['r:' .. id] = false end
end
end
if not many then
sole = nil
else
writes['h:' .. h.id] = false
if not ordered then
guard()
redis.call('ZREM', expiries, h.id)
end
end
used = used - h.weight
if used == 0 then
latest, many = 0, capacity ~= 1
end
end
local function set_capacity(wanted)
if wanted > 1 and sole then
local h = sole
sole, many = nil, true
h.passes = 0
save_holder(h)
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
capacity = wanted
if used == 0 then many = capacity ~= 1 end
end
local function resize(h, wanted)
if wanted > h.weight then
fence = math.max(fence + 1, now)
h.fence = fence
end
used, h.weight = used + wanted - h.weight, wanted
save_holder(h)
end
local function drop_expired()
if not known then return end
drop_silent(EXPIRE_LIMIT)
if not many then
if sole and sole.expires <= now then remove(sole) end
return
end
local till = string.format('%.0f', now)
local due = redis.call('ZRANGE', expiries, '-inf', till, 'BYSCORE', 'LIMIT', 0, EXPIRE_LIMIT)
if #due == 0 then return end
local names = {}
for index, id in ipairs(due) do names[index] = 'h:' .. id end
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
guard()
redis.call('ZREM', expiries, unpack(due))
for _, id in ipairs(due) do
local h = read_holder(id)
if h then remove(h, true) end
end
end
local function drop_stale(id)
local h = read_holder(id)
if h and h.expires <= now then remove(h) end
end
local function terms(w)
local passes = w.passes
if w.fair == 1 or fair_waiting > 0 or capacity > 1 then passes = 0 end
return math.max(fence + 1, now), passes
end
local function grant(w, lease)
local own, passes = terms(w)
fence = own + passes
return add({
id = w.id, owner = w.owner, weight = w.weight, channel = w.channel, meta = w.meta, ttl = w.ttl,
fence = own, passes = passes, since = now, holds = '', expires = now + lease * 1000,
signalled = w.signalled,
})
end
local function join(h, id, lease, signalled)
h.signalled = h.signalled or signalled
if not string.find(h.holds, ' ' .. id .. ' ', 1, true) then
writes['r:' .. id] = h.id
h.holds = h.holds .. id .. ' '
end
extend(h, now + lease * 1000)
return h
end
local function leave(h, id)
if h.owner ~= '' then
local from, to = string.find(h.holds, ' ' .. id .. ' ', 1, true)
h.holds = string.sub(h.holds, 1, from) .. string.sub(h.holds, to + 1)
writes['r:' .. id] = false
save_holder(h)
if h.holds ~= ' ' then return false end
end
h.signalled = nil
remove(h)
return true
end
local function granted(h)
return { 'granted', now, h.fence, h.expires - now, h.passes, hold_count(h) }
end
local SERVE_LIMIT = 1000
local SIGNAL_LIMIT = 1000
local function read_waiter(id)
local packed = read('w:' .. id)
if not packed then return nil end
local w = { id = id }
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta, w.signalled =
cmsgpack.unpack(packed)
return w
end
local function save_waiter(w)
local signal = { w.signalled }
writes['w:' .. w.id] = cmsgpack.pack(
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta,
unpack(signal))
end
local function queue_length()
return last_ticket > 0 and redis.call('ZCARD', queue) or 0
end
local function enqueue(w)
if w.ticket == 0 then w.ticket = math.max(last_ticket + 1, now) end
last_ticket = math.max(last_ticket, w.ticket)
guard()
redis.call('ZADD', queue, w.ticket, w.id)
save_waiter(w)
fair_waiting = fair_waiting + w.fair
end
local function dequeue(id)
local w = read_waiter(id)
if not w then return nil end
guard()
redis.call('ZREM', queue, id)
writes['w:' .. id] = false
fair_waiting = fair_waiting - w.fair
return w
end
local dead = {}
local function push(channel, message)
if dead[channel] then return false end
guard()
redis.set_repl(redis.REPL_NONE)
local receivers = redis.pcall('PUBLISH', channel, message)
redis.set_repl(redis.REPL_ALL)
dead[channel] = receivers == 0
return receivers ~= 0
end
local function wake(condition, count)
if parked_count() == 0 then return 0 end
local woken = 0
for _ = 1, SIGNAL_LIMIT do
local id = chain('l:' .. condition).first
if id == '' or (count > 0 and woken >= count) then break end
local e = remove_parked(id)
if e.channel == '' or push(e.channel, 's ' .. id) then
e.ticket, e.signalled = 0, condition
enqueue(e)
woken = woken + 1
end
end
return woken
end
local function settle()
local list = owed
owed = {}
for _, condition in ipairs(list) do wake(condition, 1) end
end
local function announce(w, own, lease)
local h_fence, passes, left, holds = nil, nil, lease * 1000, 1
if own then
h_fence, passes, left = own.fence, own.passes, math.max(own.expires - now, left)
holds = hold_count(own) + 1
else
h_fence, passes = terms(w)
end
local message = string.format(
'g %s %.0f %.0f %.0f %.0f %.0f', w.id, h_fence, now, left, passes, holds)
return push(w.channel, message)
end
local function conflicts(own, weight)
return own and own.weight < weight
end
local function serve(self)
settle()
if last_ticket == 0 then return end
for _ = 1, SERVE_LIMIT do
local id = redis.call('ZRANGE', queue, 0, 0)[1]
if not id then return end
local w = read_waiter(id)
if not w then
guard()
redis.call('ZREM', queue, id)
else
local own = lease_of_owner(w.owner)
local hopeless = conflicts(own, w.weight) or (not own and w.weight > capacity)
if not hopeless and not own and used + w.weight > capacity then return end
dequeue(id)
local lease = id == self and w.ttl or math.min(w.ttl, w.claim)
if not hopeless and (id == self or w.channel == '' or announce(w, own, lease)) then
if own then join(own, id, lease, w.signalled) else grant(w, lease) end
else
if w.signalled then owed[#owed + 1] = w.signalled end
settle()
end
end
end
more = queue_length() > 0
end
local function newcomer()
return {
id = id, owner = owner, weight = weight, ttl = ttl, claim = claim, fair = fair, passes = passes,
channel = channel, ticket = ticket, meta = meta,
}
end
local function free()
return used + weight <= capacity and queue_length() == 0
end
local function rejoin()
local own = lease_of_owner(owner)
if not own then return nil end
local w = dequeue(id)
local signalled = w and w.signalled
if conflicts(own, weight) then
if signalled then owed[#owed + 1] = signalled end
return { 'conflict', now, own.weight }
end
return granted(join(own, id, ttl, signalled))
end
local function enter()
local waiter = read_waiter(id)
if waiter then
waiter.channel = channel
save_waiter(waiter)
elseif free() then
return granted(grant(newcomer(), ttl))
elseif not wait then
serve('')
local own = rejoin()
if own then return own end
if free() then return granted(grant(newcomer(), ttl)) end
return { 'refused', now, next_expiry() }
elseif ticket == 0 and queue_length() >= max_queue then
serve('')
return { 'full', now, queue_length() }
else
enqueue(newcomer())
end
serve(id)
local h = lease_of(id)
if h then return granted(h) end
local queued = read_waiter(id)
if queued then return { 'queued', now, queued.ticket, next_expiry() } end
return rejoin() or { 'mismatch', now, capacity }
end
drop_expired()
drop_stale(id)
settle()
local held = lease_of(id)
local reply
if held then reply = granted(held) else reply = rejoin() end
local function idle()
return used == 0 and queue_length() == 0 and parked_count() == 0
end
local function agreed()
return capacity == wanted_capacity or read('w:' .. id)
end
if reply or not (agreed() or idle()) then serve('') end
if capacity ~= wanted_capacity and idle() then set_capacity(wanted_capacity) end
if not reply then
reply = agreed() and enter() or { 'mismatch', now, capacity }
end
flush()
return reply
` as string,
  },
  arrive: {
    name: 'arrive',
    sha: '6099ce3e87f5419aba06c147ff850dd0ab9fbee8',
    keys: ['gate', 'arrivals', 'past', 'expiries'],
    args: [
      'name',
      'kind',
      'count',
      'generation',
      'ttl',
      'retention',
      'channel',
      'id',
      'by',
    ],
    source: `local gate, arrivals, past, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local name = ARGV[1]
local kind = ARGV[2]
local count = tonumber(ARGV[3])
local generation = tonumber(ARGV[4])
local ttl = tonumber(ARGV[5])
local retention = tonumber(ARGV[6])
local channel = ARGV[7]
local id = ARGV[8]
local by = tonumber(ARGV[9])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local CHANNEL_LIMIT, BROKEN_LIMIT, CHUNK = 10000, 64, 1000
local seen = redis.call('HGET', gate, 's')
local g
if seen then
g = { broken = {} }
local list = { cmsgpack.unpack(seen) }
g.kind, g.count, g.generation, g.since, g.left, g.ends, g.retention, g.past = unpack(list, 1, 8)
for at = 9, #list do g.broken[at - 8] = list[at] end
end
local function forget_at()
return math.floor((g.ends + g.retention * 1000) / 1000)
end
if g then redis.call('PEXPIREAT', gate, forget_at()) end
local function flush()
local at = forget_at()
redis.call('HSET', gate, 's', cmsgpack.pack(
g.kind, g.count, g.generation, g.since, g.left, g.ends, g.retention, g.past, unpack(g.broken)))
for _, name in ipairs({ gate, arrivals, past, expiries }) do
redis.call('PEXPIREAT', name, at)
end
end
local function reason_of(generation)
for at = 1, #g.broken, 2 do
if g.broken[at] == generation then return g.broken[at + 1] end
end
return ''
end
local function fate(generation)
if generation > g.generation or generation < g.since then return 'unknown' end
if reason_of(generation) ~= '' then return 'broken' end
return (generation < g.generation or g.left == 0) and 'open' or 'closed'
end
local function first_expiry()
return tonumber(redis.call('ZRANGE', expiries, 0, 0, 'WITHSCORES')[2])
end
local function next_due()
if g.kind == 'latch' then
return fate(g.generation) == 'closed' and math.max(0, g.ends - now) or 0
end
local first = first_expiry()
return first and math.max(0, first - now) or 0
end
local function tell(generation)
local channels, fields = {}, {}
for _, field in ipairs(redis.call('HKEYS', gate)) do
if field ~= 's' then
fields[#fields + 1] = field
channels[#channels + 1] = string.sub(field, 3)
end
end
table.sort(channels)
local letter = fate(generation) == 'broken' and 'b' or 'o'
local message = string.format(
'%s %.0f %.0f %s %s', letter, generation, g.generation, reason_of(generation), name)
redis.set_repl(redis.REPL_NONE)
for _, channel in ipairs(channels) do redis.pcall('PUBLISH', channel, message) end
redis.set_repl(redis.REPL_ALL)
for from = 1, #fields, CHUNK do
redis.call('HDEL', gate, unpack(fields, from, math.min(from + CHUNK - 1, #fields)))
end
end
local function remember(reason)
g.broken[#g.broken + 1] = g.generation
g.broken[#g.broken + 1] = reason
if #g.broken <= 2 * BROKEN_LIMIT then return end
g.since = table.remove(g.broken, 1) + 1
table.remove(g.broken, 1)
end
local function next_generation(wanted)
local ended = g.generation
if redis.call('EXISTS', arrivals) == 1 then
redis.call('RENAME', arrivals, past)
else
redis.call('DEL', past)
end
redis.call('DEL', expiries)
g.past = ended
g.generation = math.max(ended + 1, now)
g.count, g.left, g.ends = wanted, wanted, now
tell(ended)
end
local function turn(why, wanted)
if fate(g.generation) == 'closed' then remember(why) end
next_generation(wanted)
end
local function settle()
if g.kind == 'latch' then
if fate(g.generation) ~= 'closed' or g.ends > now then return end
remember('expired')
return tell(g.generation)
end
local first = first_expiry()
if first and first <= now then turn('expired', g.count) end
g.ends = math.max(g.ends, now)
end
local function extend(id, expires)
local later = math.max(tonumber(redis.call('ZSCORE', expiries, id) or 0), expires)
redis.call('ZADD', expiries, string.format('%.0f', later), id)
g.ends = math.max(g.ends, later)
end
local function listen(channel)
if channel ~= '' and redis.call('HLEN', gate) <= CHANNEL_LIMIT then
redis.call('HSET', gate, 'c:' .. channel, '')
end
end
local function suits(wanted)
return g.count == wanted or (g.kind == 'barrier' and redis.call('HLEN', arrivals) == 0)
end
local function other()
return { 'other', now, g.kind, g.count }
end
local function status(generation, id)
local sure, rank = generation == g.generation or generation == g.past, -1
if sure and id ~= '' then
rank = tonumber(redis.call('HGET', generation == g.generation and arrivals or past, id) or -1)
end
return {
'gate', now, generation, fate(generation), reason_of(generation), rank, sure and 1 or 0,
g.generation, g.left, next_due(),
}
end
local function none(generation)
return { 'gate', now, generation, 'unknown', '', -1, 0, 0, 0, 0 }
end
local function arrive()
g.left = math.max(0, g.left - by)
redis.call('HSET', arrivals, id, g.left)
if g.kind == 'latch' then
g.ends = g.left == 0 and now or now + ttl * 1000
if g.left == 0 then tell(generation) end
elseif g.left == 0 then
next_generation(g.count)
else
extend(id, now + ttl * 1000)
end
end
if not g then return none(generation) end
settle()
if g.kind ~= kind or (fate(generation) == 'closed' and not suits(count)) then
flush()
return other()
end
if fate(generation) == 'closed' then
if redis.call('HEXISTS', arrivals, id) == 0 then
g.left = g.left + count - g.count
g.count, g.retention = count, retention
arrive()
end
if fate(generation) == 'closed' then listen(channel) end
end
flush()
return status(generation, id)
` as string,
  },
  capacity: {
    name: 'capacity',
    sha: 'f769f3280c17c0ee923775f48d1aea0473d37f5e',
    keys: ['resource', 'queue', 'expiries'],
    args: [
      'from',
      'wanted',
      'retention',
    ],
    source: `local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local from = tonumber(ARGV[1])
local wanted = tonumber(ARGV[2])
local retention = tonumber(ARGV[3])
local id = ''
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local seen = redis.call('HGET', resource, 's')
local CHUNK = 1000
local known = seen and true
local loaded, writes = {}, {}
local capacity, fence, last_ticket, used, latest, fair_waiting = 0, 0, 0, 0, 0, 0
local sole -- the only lease of a mutex
local many = false
if known then
local h = {}
capacity, fence, last_ticket, used, latest, fair_waiting, h.id, h.expires, h.weight, h.fence,
h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta, h.signalled, h.seq, h.woken,
h.left = cmsgpack.unpack(seen)
sole = h.id and h
if h.signalled == '' then h.signalled = nil end
many = capacity ~= 1 or (used > 0 and not sole)
local names = { 'h:' .. id, 'w:' .. id, 'r:' .. id, 'l' }
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
end
local function read(field)
local value = writes[field]
if value == nil then value = loaded[field] end
if value == nil then
value = redis.call('HGET', resource, field)
loaded[field] = value
end
return value
end
local function forget_at(retention)
return math.floor((math.max(now, latest) + retention * 1000) / 1000)
end
local guarded = false
local function guard()
if known and not guarded then redis.call('PEXPIREAT', resource, forget_at(retention)) end
guarded = true
end
local function with_signals(h)
if not h.signalled and not h.seq then return h.meta end
return h.meta, h.signalled or '', h.seq or 0, h.woken or 0, h.left or 0
end
local function pack_summary()
if not sole then
return cmsgpack.pack(capacity, fence, last_ticket, used, latest, fair_waiting)
end
return cmsgpack.pack(
capacity, fence, last_ticket, used, latest, fair_waiting, sole.id, sole.expires, sole.weight,
sole.fence, sole.passes, sole.ttl, sole.since, sole.owner, sole.holds, sole.channel,
with_signals(sole))
end
local function in_chunks(command, list)
for from = 1, #list, CHUNK do
redis.call(command, resource, unpack(list, from, math.min(from + CHUNK - 1, #list)))
end
end
local collect
local function flush()
collect()
local at = forget_at(retention)
if known then redis.call('PEXPIREAT', resource, at) end
writes.s = pack_summary()
local set, deleted = {}, {}
for field, value in pairs(writes) do
if value then
set[#set + 1] = field
set[#set + 1] = value
elseif loaded[field] then
deleted[#deleted + 1] = field
end
end
in_chunks('HDEL', deleted)
in_chunks('HSET', set)
if not known then redis.call('PEXPIREAT', resource, at) end
if last_ticket > 0 then redis.call('PEXPIREAT', queue, at) end
if many then redis.call('PEXPIREAT', expiries, at) end
end
local entries, chains, changed = {}, {}, {}
local function chain(name)
local c = chains[name]
if not c then
c = { first = '', last = '', count = 0 }
local packed = known and (name == 'l' or chain('l').count > 0) and read(name)
if packed then c.first, c.last, c.count = cmsgpack.unpack(packed) end
chains[name] = c
end
return c
end
local function parked_count()
return chain('l').count
end
local function read_parked(id)
if entries[id] == nil then
local packed = parked_count() > 0 and read('c:' .. id)
local e = packed and { id = id }
if e then
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer = cmsgpack.unpack(packed)
end
entries[id] = e
end
return entries[id] or nil
end
local function change(id)
changed[id] = true
return read_parked(id)
end
local function link(name, e, back, forth)
local c = chain(name)
e[back], e[forth] = c.last, ''
if c.last ~= '' then change(c.last)[forth] = e.id else c.first = e.id end
c.last, c.count, c.changed = e.id, c.count + 1, true
end
local function unlink(name, e, back, forth)
local c = chain(name)
if e[back] ~= '' then change(e[back])[forth] = e[forth] else c.first = e[forth] end
if e[forth] ~= '' then change(e[forth])[back] = e[back] else c.last = e[back] end
c.count, c.changed = c.count - 1, true
end
local function add_parked(e)
link('l:' .. e.condition, e, 'ahead', 'behind')
link('l', e, 'older', 'newer')
entries[e.id], changed[e.id] = e, true
end
local function remove_parked(id)
local e = read_parked(id)
if not e then return nil end
unlink('l:' .. e.condition, e, 'ahead', 'behind')
unlink('l', e, 'older', 'newer')
entries[id], changed[id] = false, true
return e
end
local function hear(id)
local e = read_parked(id)
if not e or e.till - now >= retention * 500 then return end
unlink('l', e, 'older', 'newer')
link('l', e, 'older', 'newer')
e.till, changed[id] = now + retention * 1000, true
end
local function drop_silent(limit)
for _ = 1, limit do
local id = chain('l').first
if id == '' or read_parked(id).till > now then return end
remove_parked(id)
end
end
collect = function()
for id in pairs(changed) do
local e = entries[id]
writes['c:' .. id] = e and cmsgpack.pack(
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer)
end
for name, c in pairs(chains) do
if c.changed then
writes[name] = c.count > 0 and cmsgpack.pack(c.first, c.last, c.count)
end
end
end
local EXPIRE_LIMIT = 1000
local owed = {}
local function read_holder(id)
if not many then return sole and sole.id == id and sole or nil end
local packed = read('h:' .. id)
if not packed then return nil end
local h = { id = id }
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta,
h.signalled, h.seq, h.woken, h.left = cmsgpack.unpack(packed)
if h.signalled == '' then h.signalled = nil end
return h
end
local function save_holder(h)
if not many then
sole = h
return
end
writes['h:' .. h.id] = cmsgpack.pack(
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel,
with_signals(h))
end
local function hold_count(h)
if h.owner == '' then return 1 end
local _, spaces = string.gsub(h.holds, '[^ ]+', '')
return spaces
end
local function lease_of(id)
local root = read('r:' .. id)
local h = read_holder(root or id)
if not h or h.expires <= now or (h.owner ~= '' and not root) then return nil end
return h
end
local function lease_of_owner(owner)
local root = owner ~= '' and read('p:' .. owner)
local h = root and read_holder(root)
if not h or h.expires <= now then return nil end
return h
end
local more = false
local function next_expiry()
local first = sole and sole.expires
if more then return 0 end
if many then first = tonumber(redis.call('ZRANGE', expiries, 0, 0, 'WITHSCORES')[2]) end
return first and math.max(0, first - now) or 0
end
local function extend(h, expires)
h.expires = math.max(h.expires, expires)
save_holder(h)
if many then
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
latest = math.max(latest, h.expires)
end
local function add(h)
used = used + h.weight
if h.owner ~= '' then
writes['p:' .. h.owner], writes['r:' .. h.id], h.holds = h.id, h.id, ' ' .. h.id .. ' '
end
extend(h, h.expires)
return h
end
local function remove(h, ordered)
if h.signalled then owed[#owed + 1] = h.signalled end
if h.owner ~= '' then
if read('p:' .. h.owner) == h.id then writes['p:' .. h.owner] = false end
for id in string.gmatch(h.holds, '[^ ]+') do
if read('r:' .. id) == h.id then writes['r:' .. id] = false end
end
end
if not many then
sole = nil
else
writes['h:' .. h.id] = false
if not ordered then
guard()
redis.call('ZREM', expiries, h.id)
end
end
used = used - h.weight
if used == 0 then
latest, many = 0, capacity ~= 1
end
end
local function set_capacity(wanted)
if wanted > 1 and sole then
local h = sole
sole, many = nil, true
h.passes = 0
save_holder(h)
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
capacity = wanted
if used == 0 then many = capacity ~= 1 end
end
local function resize(h, wanted)
if wanted > h.weight then
fence = math.max(fence + 1, now)
h.fence = fence
end
used, h.weight = used + wanted - h.weight, wanted
save_holder(h)
end
local function drop_expired()
if not known then return end
drop_silent(EXPIRE_LIMIT)
if not many then
if sole and sole.expires <= now then remove(sole) end
return
end
local till = string.format('%.0f', now)
local due = redis.call('ZRANGE', expiries, '-inf', till, 'BYSCORE', 'LIMIT', 0, EXPIRE_LIMIT)
if #due == 0 then return end
local names = {}
for index, id in ipairs(due) do names[index] = 'h:' .. id end
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
guard()
redis.call('ZREM', expiries, unpack(due))
for _, id in ipairs(due) do
local h = read_holder(id)
if h then remove(h, true) end
end
end
local function drop_stale(id)
local h = read_holder(id)
if h and h.expires <= now then remove(h) end
end
local function terms(w)
local passes = w.passes
if w.fair == 1 or fair_waiting > 0 or capacity > 1 then passes = 0 end
return math.max(fence + 1, now), passes
end
local function grant(w, lease)
local own, passes = terms(w)
fence = own + passes
return add({
id = w.id, owner = w.owner, weight = w.weight, channel = w.channel, meta = w.meta, ttl = w.ttl,
fence = own, passes = passes, since = now, holds = '', expires = now + lease * 1000,
signalled = w.signalled,
})
end
local function join(h, id, lease, signalled)
h.signalled = h.signalled or signalled
if not string.find(h.holds, ' ' .. id .. ' ', 1, true) then
writes['r:' .. id] = h.id
h.holds = h.holds .. id .. ' '
end
extend(h, now + lease * 1000)
return h
end
local function leave(h, id)
if h.owner ~= '' then
local from, to = string.find(h.holds, ' ' .. id .. ' ', 1, true)
h.holds = string.sub(h.holds, 1, from) .. string.sub(h.holds, to + 1)
writes['r:' .. id] = false
save_holder(h)
if h.holds ~= ' ' then return false end
end
h.signalled = nil
remove(h)
return true
end
local function granted(h)
return { 'granted', now, h.fence, h.expires - now, h.passes, hold_count(h) }
end
local SERVE_LIMIT = 1000
local SIGNAL_LIMIT = 1000
local function read_waiter(id)
local packed = read('w:' .. id)
if not packed then return nil end
local w = { id = id }
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta, w.signalled =
cmsgpack.unpack(packed)
return w
end
local function save_waiter(w)
local signal = { w.signalled }
writes['w:' .. w.id] = cmsgpack.pack(
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta,
unpack(signal))
end
local function queue_length()
return last_ticket > 0 and redis.call('ZCARD', queue) or 0
end
local function enqueue(w)
if w.ticket == 0 then w.ticket = math.max(last_ticket + 1, now) end
last_ticket = math.max(last_ticket, w.ticket)
guard()
redis.call('ZADD', queue, w.ticket, w.id)
save_waiter(w)
fair_waiting = fair_waiting + w.fair
end
local function dequeue(id)
local w = read_waiter(id)
if not w then return nil end
guard()
redis.call('ZREM', queue, id)
writes['w:' .. id] = false
fair_waiting = fair_waiting - w.fair
return w
end
local dead = {}
local function push(channel, message)
if dead[channel] then return false end
guard()
redis.set_repl(redis.REPL_NONE)
local receivers = redis.pcall('PUBLISH', channel, message)
redis.set_repl(redis.REPL_ALL)
dead[channel] = receivers == 0
return receivers ~= 0
end
local function wake(condition, count)
if parked_count() == 0 then return 0 end
local woken = 0
for _ = 1, SIGNAL_LIMIT do
local id = chain('l:' .. condition).first
if id == '' or (count > 0 and woken >= count) then break end
local e = remove_parked(id)
if e.channel == '' or push(e.channel, 's ' .. id) then
e.ticket, e.signalled = 0, condition
enqueue(e)
woken = woken + 1
end
end
return woken
end
local function settle()
local list = owed
owed = {}
for _, condition in ipairs(list) do wake(condition, 1) end
end
local function announce(w, own, lease)
local h_fence, passes, left, holds = nil, nil, lease * 1000, 1
if own then
h_fence, passes, left = own.fence, own.passes, math.max(own.expires - now, left)
holds = hold_count(own) + 1
else
h_fence, passes = terms(w)
end
local message = string.format(
'g %s %.0f %.0f %.0f %.0f %.0f', w.id, h_fence, now, left, passes, holds)
return push(w.channel, message)
end
local function conflicts(own, weight)
return own and own.weight < weight
end
local function serve(self)
settle()
if last_ticket == 0 then return end
for _ = 1, SERVE_LIMIT do
local id = redis.call('ZRANGE', queue, 0, 0)[1]
if not id then return end
local w = read_waiter(id)
if not w then
guard()
redis.call('ZREM', queue, id)
else
local own = lease_of_owner(w.owner)
local hopeless = conflicts(own, w.weight) or (not own and w.weight > capacity)
if not hopeless and not own and used + w.weight > capacity then return end
dequeue(id)
local lease = id == self and w.ttl or math.min(w.ttl, w.claim)
if not hopeless and (id == self or w.channel == '' or announce(w, own, lease)) then
if own then join(own, id, lease, w.signalled) else grant(w, lease) end
else
if w.signalled then owed[#owed + 1] = w.signalled end
settle()
end
end
end
more = queue_length() > 0
end
if not known then return { 'absent', now, 0 } end
drop_expired()
settle()
local idle = used == 0 and queue_length() == 0
local agreed = capacity == from or capacity == wanted
if (agreed or idle) and parked_count() == 0 then set_capacity(wanted) end
serve('')
flush()
return { capacity == wanted and 'changed' or 'mismatch', now, capacity }
` as string,
  },
  force: {
    name: 'force',
    sha: '7864032b941b159c758e8894d336996931ab4545',
    keys: ['resource', 'queue', 'expiries'],
    args: [
      'id',
      'retention',
    ],
    source: `local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]
local retention = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local seen = redis.call('HGET', resource, 's')
local CHUNK = 1000
local known = seen and true
local loaded, writes = {}, {}
local capacity, fence, last_ticket, used, latest, fair_waiting = 0, 0, 0, 0, 0, 0
local sole -- the only lease of a mutex
local many = false
if known then
local h = {}
capacity, fence, last_ticket, used, latest, fair_waiting, h.id, h.expires, h.weight, h.fence,
h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta, h.signalled, h.seq, h.woken,
h.left = cmsgpack.unpack(seen)
sole = h.id and h
if h.signalled == '' then h.signalled = nil end
many = capacity ~= 1 or (used > 0 and not sole)
local names = { 'h:' .. id, 'w:' .. id, 'r:' .. id, 'l' }
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
end
local function read(field)
local value = writes[field]
if value == nil then value = loaded[field] end
if value == nil then
value = redis.call('HGET', resource, field)
loaded[field] = value
end
return value
end
local function forget_at(retention)
return math.floor((math.max(now, latest) + retention * 1000) / 1000)
end
local guarded = false
local function guard()
if known and not guarded then redis.call('PEXPIREAT', resource, forget_at(retention)) end
guarded = true
end
local function with_signals(h)
if not h.signalled and not h.seq then return h.meta end
return h.meta, h.signalled or '', h.seq or 0, h.woken or 0, h.left or 0
end
local function pack_summary()
if not sole then
return cmsgpack.pack(capacity, fence, last_ticket, used, latest, fair_waiting)
end
return cmsgpack.pack(
capacity, fence, last_ticket, used, latest, fair_waiting, sole.id, sole.expires, sole.weight,
sole.fence, sole.passes, sole.ttl, sole.since, sole.owner, sole.holds, sole.channel,
with_signals(sole))
end
local function in_chunks(command, list)
for from = 1, #list, CHUNK do
redis.call(command, resource, unpack(list, from, math.min(from + CHUNK - 1, #list)))
end
end
local collect
local function flush()
collect()
local at = forget_at(retention)
if known then redis.call('PEXPIREAT', resource, at) end
writes.s = pack_summary()
local set, deleted = {}, {}
for field, value in pairs(writes) do
if value then
set[#set + 1] = field
set[#set + 1] = value
elseif loaded[field] then
deleted[#deleted + 1] = field
end
end
in_chunks('HDEL', deleted)
in_chunks('HSET', set)
if not known then redis.call('PEXPIREAT', resource, at) end
if last_ticket > 0 then redis.call('PEXPIREAT', queue, at) end
if many then redis.call('PEXPIREAT', expiries, at) end
end
local entries, chains, changed = {}, {}, {}
local function chain(name)
local c = chains[name]
if not c then
c = { first = '', last = '', count = 0 }
local packed = known and (name == 'l' or chain('l').count > 0) and read(name)
if packed then c.first, c.last, c.count = cmsgpack.unpack(packed) end
chains[name] = c
end
return c
end
local function parked_count()
return chain('l').count
end
local function read_parked(id)
if entries[id] == nil then
local packed = parked_count() > 0 and read('c:' .. id)
local e = packed and { id = id }
if e then
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer = cmsgpack.unpack(packed)
end
entries[id] = e
end
return entries[id] or nil
end
local function change(id)
changed[id] = true
return read_parked(id)
end
local function link(name, e, back, forth)
local c = chain(name)
e[back], e[forth] = c.last, ''
if c.last ~= '' then change(c.last)[forth] = e.id else c.first = e.id end
c.last, c.count, c.changed = e.id, c.count + 1, true
end
local function unlink(name, e, back, forth)
local c = chain(name)
if e[back] ~= '' then change(e[back])[forth] = e[forth] else c.first = e[forth] end
if e[forth] ~= '' then change(e[forth])[back] = e[back] else c.last = e[back] end
c.count, c.changed = c.count - 1, true
end
local function add_parked(e)
link('l:' .. e.condition, e, 'ahead', 'behind')
link('l', e, 'older', 'newer')
entries[e.id], changed[e.id] = e, true
end
local function remove_parked(id)
local e = read_parked(id)
if not e then return nil end
unlink('l:' .. e.condition, e, 'ahead', 'behind')
unlink('l', e, 'older', 'newer')
entries[id], changed[id] = false, true
return e
end
local function hear(id)
local e = read_parked(id)
if not e or e.till - now >= retention * 500 then return end
unlink('l', e, 'older', 'newer')
link('l', e, 'older', 'newer')
e.till, changed[id] = now + retention * 1000, true
end
local function drop_silent(limit)
for _ = 1, limit do
local id = chain('l').first
if id == '' or read_parked(id).till > now then return end
remove_parked(id)
end
end
collect = function()
for id in pairs(changed) do
local e = entries[id]
writes['c:' .. id] = e and cmsgpack.pack(
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer)
end
for name, c in pairs(chains) do
if c.changed then
writes[name] = c.count > 0 and cmsgpack.pack(c.first, c.last, c.count)
end
end
end
local EXPIRE_LIMIT = 1000
local owed = {}
local function read_holder(id)
if not many then return sole and sole.id == id and sole or nil end
local packed = read('h:' .. id)
if not packed then return nil end
local h = { id = id }
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta,
h.signalled, h.seq, h.woken, h.left = cmsgpack.unpack(packed)
if h.signalled == '' then h.signalled = nil end
return h
end
local function save_holder(h)
if not many then
sole = h
return
end
writes['h:' .. h.id] = cmsgpack.pack(
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel,
with_signals(h))
end
local function hold_count(h)
if h.owner == '' then return 1 end
local _, spaces = string.gsub(h.holds, '[^ ]+', '')
return spaces
end
local function lease_of(id)
local root = read('r:' .. id)
local h = read_holder(root or id)
if not h or h.expires <= now or (h.owner ~= '' and not root) then return nil end
return h
end
local function lease_of_owner(owner)
local root = owner ~= '' and read('p:' .. owner)
local h = root and read_holder(root)
if not h or h.expires <= now then return nil end
return h
end
local more = false
local function next_expiry()
local first = sole and sole.expires
if more then return 0 end
if many then first = tonumber(redis.call('ZRANGE', expiries, 0, 0, 'WITHSCORES')[2]) end
return first and math.max(0, first - now) or 0
end
local function extend(h, expires)
h.expires = math.max(h.expires, expires)
save_holder(h)
if many then
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
latest = math.max(latest, h.expires)
end
local function add(h)
used = used + h.weight
if h.owner ~= '' then
writes['p:' .. h.owner], writes['r:' .. h.id], h.holds = h.id, h.id, ' ' .. h.id .. ' '
end
extend(h, h.expires)
return h
end
local function remove(h, ordered)
if h.signalled then owed[#owed + 1] = h.signalled end
if h.owner ~= '' then
if read('p:' .. h.owner) == h.id then writes['p:' .. h.owner] = false end
for id in string.gmatch(h.holds, '[^ ]+') do
if read('r:' .. id) == h.id then writes['r:' .. id] = false end
end
end
if not many then
sole = nil
else
writes['h:' .. h.id] = false
if not ordered then
guard()
redis.call('ZREM', expiries, h.id)
end
end
used = used - h.weight
if used == 0 then
latest, many = 0, capacity ~= 1
end
end
local function set_capacity(wanted)
if wanted > 1 and sole then
local h = sole
sole, many = nil, true
h.passes = 0
save_holder(h)
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
capacity = wanted
if used == 0 then many = capacity ~= 1 end
end
local function resize(h, wanted)
if wanted > h.weight then
fence = math.max(fence + 1, now)
h.fence = fence
end
used, h.weight = used + wanted - h.weight, wanted
save_holder(h)
end
local function drop_expired()
if not known then return end
drop_silent(EXPIRE_LIMIT)
if not many then
if sole and sole.expires <= now then remove(sole) end
return
end
local till = string.format('%.0f', now)
local due = redis.call('ZRANGE', expiries, '-inf', till, 'BYSCORE', 'LIMIT', 0, EXPIRE_LIMIT)
if #due == 0 then return end
local names = {}
for index, id in ipairs(due) do names[index] = 'h:' .. id end
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
guard()
redis.call('ZREM', expiries, unpack(due))
for _, id in ipairs(due) do
local h = read_holder(id)
if h then remove(h, true) end
end
end
local function drop_stale(id)
local h = read_holder(id)
if h and h.expires <= now then remove(h) end
end
local function terms(w)
local passes = w.passes
if w.fair == 1 or fair_waiting > 0 or capacity > 1 then passes = 0 end
return math.max(fence + 1, now), passes
end
local function grant(w, lease)
local own, passes = terms(w)
fence = own + passes
return add({
id = w.id, owner = w.owner, weight = w.weight, channel = w.channel, meta = w.meta, ttl = w.ttl,
fence = own, passes = passes, since = now, holds = '', expires = now + lease * 1000,
signalled = w.signalled,
})
end
local function join(h, id, lease, signalled)
h.signalled = h.signalled or signalled
if not string.find(h.holds, ' ' .. id .. ' ', 1, true) then
writes['r:' .. id] = h.id
h.holds = h.holds .. id .. ' '
end
extend(h, now + lease * 1000)
return h
end
local function leave(h, id)
if h.owner ~= '' then
local from, to = string.find(h.holds, ' ' .. id .. ' ', 1, true)
h.holds = string.sub(h.holds, 1, from) .. string.sub(h.holds, to + 1)
writes['r:' .. id] = false
save_holder(h)
if h.holds ~= ' ' then return false end
end
h.signalled = nil
remove(h)
return true
end
local function granted(h)
return { 'granted', now, h.fence, h.expires - now, h.passes, hold_count(h) }
end
local SERVE_LIMIT = 1000
local SIGNAL_LIMIT = 1000
local function read_waiter(id)
local packed = read('w:' .. id)
if not packed then return nil end
local w = { id = id }
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta, w.signalled =
cmsgpack.unpack(packed)
return w
end
local function save_waiter(w)
local signal = { w.signalled }
writes['w:' .. w.id] = cmsgpack.pack(
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta,
unpack(signal))
end
local function queue_length()
return last_ticket > 0 and redis.call('ZCARD', queue) or 0
end
local function enqueue(w)
if w.ticket == 0 then w.ticket = math.max(last_ticket + 1, now) end
last_ticket = math.max(last_ticket, w.ticket)
guard()
redis.call('ZADD', queue, w.ticket, w.id)
save_waiter(w)
fair_waiting = fair_waiting + w.fair
end
local function dequeue(id)
local w = read_waiter(id)
if not w then return nil end
guard()
redis.call('ZREM', queue, id)
writes['w:' .. id] = false
fair_waiting = fair_waiting - w.fair
return w
end
local dead = {}
local function push(channel, message)
if dead[channel] then return false end
guard()
redis.set_repl(redis.REPL_NONE)
local receivers = redis.pcall('PUBLISH', channel, message)
redis.set_repl(redis.REPL_ALL)
dead[channel] = receivers == 0
return receivers ~= 0
end
local function wake(condition, count)
if parked_count() == 0 then return 0 end
local woken = 0
for _ = 1, SIGNAL_LIMIT do
local id = chain('l:' .. condition).first
if id == '' or (count > 0 and woken >= count) then break end
local e = remove_parked(id)
if e.channel == '' or push(e.channel, 's ' .. id) then
e.ticket, e.signalled = 0, condition
enqueue(e)
woken = woken + 1
end
end
return woken
end
local function settle()
local list = owed
owed = {}
for _, condition in ipairs(list) do wake(condition, 1) end
end
local function announce(w, own, lease)
local h_fence, passes, left, holds = nil, nil, lease * 1000, 1
if own then
h_fence, passes, left = own.fence, own.passes, math.max(own.expires - now, left)
holds = hold_count(own) + 1
else
h_fence, passes = terms(w)
end
local message = string.format(
'g %s %.0f %.0f %.0f %.0f %.0f', w.id, h_fence, now, left, passes, holds)
return push(w.channel, message)
end
local function conflicts(own, weight)
return own and own.weight < weight
end
local function serve(self)
settle()
if last_ticket == 0 then return end
for _ = 1, SERVE_LIMIT do
local id = redis.call('ZRANGE', queue, 0, 0)[1]
if not id then return end
local w = read_waiter(id)
if not w then
guard()
redis.call('ZREM', queue, id)
else
local own = lease_of_owner(w.owner)
local hopeless = conflicts(own, w.weight) or (not own and w.weight > capacity)
if not hopeless and not own and used + w.weight > capacity then return end
dequeue(id)
local lease = id == self and w.ttl or math.min(w.ttl, w.claim)
if not hopeless and (id == self or w.channel == '' or announce(w, own, lease)) then
if own then join(own, id, lease, w.signalled) else grant(w, lease) end
else
if w.signalled then owed[#owed + 1] = w.signalled end
settle()
end
end
end
more = queue_length() > 0
end
local FORCE_LIMIT = 1000
local function doomed()
if id ~= '' then
local h = lease_of(id)
return h and { h.id } or {}
end
if not many then return sole and { sole.id } or {} end
return redis.call('ZRANGE', expiries, 0, FORCE_LIMIT - 1)
end
if not known then return { 'forced', now, 0 } end
drop_expired()
local victims = doomed()
for _, victim in ipairs(victims) do
local h = read_holder(victim)
remove(h)
if h.channel ~= '' then push(h.channel, 'r ' .. victim) end
end
serve('')
flush()
return { 'forced', now, #victims }
` as string,
  },
  inspect: {
    name: 'inspect',
    sha: '7ca52f40393b0858ee8766329ceca9f5ede5bb0f',
    keys: ['resource', 'queue', 'expiries'],
    args: [
      'limit',
    ],
    source: `local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local limit = tonumber(ARGV[1])
local retention = 0
local id = ''
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local seen = redis.call('HGET', resource, 's')
local CHUNK = 1000
local known = seen and true
local loaded, writes = {}, {}
local capacity, fence, last_ticket, used, latest, fair_waiting = 0, 0, 0, 0, 0, 0
local sole -- the only lease of a mutex
local many = false
if known then
local h = {}
capacity, fence, last_ticket, used, latest, fair_waiting, h.id, h.expires, h.weight, h.fence,
h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta, h.signalled, h.seq, h.woken,
h.left = cmsgpack.unpack(seen)
sole = h.id and h
if h.signalled == '' then h.signalled = nil end
many = capacity ~= 1 or (used > 0 and not sole)
local names = { 'h:' .. id, 'w:' .. id, 'r:' .. id, 'l' }
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
end
local function read(field)
local value = writes[field]
if value == nil then value = loaded[field] end
if value == nil then
value = redis.call('HGET', resource, field)
loaded[field] = value
end
return value
end
local function forget_at(retention)
return math.floor((math.max(now, latest) + retention * 1000) / 1000)
end
local guarded = false
local function guard()
if known and not guarded then redis.call('PEXPIREAT', resource, forget_at(retention)) end
guarded = true
end
local function with_signals(h)
if not h.signalled and not h.seq then return h.meta end
return h.meta, h.signalled or '', h.seq or 0, h.woken or 0, h.left or 0
end
local function pack_summary()
if not sole then
return cmsgpack.pack(capacity, fence, last_ticket, used, latest, fair_waiting)
end
return cmsgpack.pack(
capacity, fence, last_ticket, used, latest, fair_waiting, sole.id, sole.expires, sole.weight,
sole.fence, sole.passes, sole.ttl, sole.since, sole.owner, sole.holds, sole.channel,
with_signals(sole))
end
local function in_chunks(command, list)
for from = 1, #list, CHUNK do
redis.call(command, resource, unpack(list, from, math.min(from + CHUNK - 1, #list)))
end
end
local collect
local function flush()
collect()
local at = forget_at(retention)
if known then redis.call('PEXPIREAT', resource, at) end
writes.s = pack_summary()
local set, deleted = {}, {}
for field, value in pairs(writes) do
if value then
set[#set + 1] = field
set[#set + 1] = value
elseif loaded[field] then
deleted[#deleted + 1] = field
end
end
in_chunks('HDEL', deleted)
in_chunks('HSET', set)
if not known then redis.call('PEXPIREAT', resource, at) end
if last_ticket > 0 then redis.call('PEXPIREAT', queue, at) end
if many then redis.call('PEXPIREAT', expiries, at) end
end
local entries, chains, changed = {}, {}, {}
local function chain(name)
local c = chains[name]
if not c then
c = { first = '', last = '', count = 0 }
local packed = known and (name == 'l' or chain('l').count > 0) and read(name)
if packed then c.first, c.last, c.count = cmsgpack.unpack(packed) end
chains[name] = c
end
return c
end
local function parked_count()
return chain('l').count
end
local function read_parked(id)
if entries[id] == nil then
local packed = parked_count() > 0 and read('c:' .. id)
local e = packed and { id = id }
if e then
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer = cmsgpack.unpack(packed)
end
entries[id] = e
end
return entries[id] or nil
end
local function change(id)
changed[id] = true
return read_parked(id)
end
local function link(name, e, back, forth)
local c = chain(name)
e[back], e[forth] = c.last, ''
if c.last ~= '' then change(c.last)[forth] = e.id else c.first = e.id end
c.last, c.count, c.changed = e.id, c.count + 1, true
end
local function unlink(name, e, back, forth)
local c = chain(name)
if e[back] ~= '' then change(e[back])[forth] = e[forth] else c.first = e[forth] end
if e[forth] ~= '' then change(e[forth])[back] = e[back] else c.last = e[back] end
c.count, c.changed = c.count - 1, true
end
local function add_parked(e)
link('l:' .. e.condition, e, 'ahead', 'behind')
link('l', e, 'older', 'newer')
entries[e.id], changed[e.id] = e, true
end
local function remove_parked(id)
local e = read_parked(id)
if not e then return nil end
unlink('l:' .. e.condition, e, 'ahead', 'behind')
unlink('l', e, 'older', 'newer')
entries[id], changed[id] = false, true
return e
end
local function hear(id)
local e = read_parked(id)
if not e or e.till - now >= retention * 500 then return end
unlink('l', e, 'older', 'newer')
link('l', e, 'older', 'newer')
e.till, changed[id] = now + retention * 1000, true
end
local function drop_silent(limit)
for _ = 1, limit do
local id = chain('l').first
if id == '' or read_parked(id).till > now then return end
remove_parked(id)
end
end
collect = function()
for id in pairs(changed) do
local e = entries[id]
writes['c:' .. id] = e and cmsgpack.pack(
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer)
end
for name, c in pairs(chains) do
if c.changed then
writes[name] = c.count > 0 and cmsgpack.pack(c.first, c.last, c.count)
end
end
end
local EXPIRE_LIMIT = 1000
local owed = {}
local function read_holder(id)
if not many then return sole and sole.id == id and sole or nil end
local packed = read('h:' .. id)
if not packed then return nil end
local h = { id = id }
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta,
h.signalled, h.seq, h.woken, h.left = cmsgpack.unpack(packed)
if h.signalled == '' then h.signalled = nil end
return h
end
local function save_holder(h)
if not many then
sole = h
return
end
writes['h:' .. h.id] = cmsgpack.pack(
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel,
with_signals(h))
end
local function hold_count(h)
if h.owner == '' then return 1 end
local _, spaces = string.gsub(h.holds, '[^ ]+', '')
return spaces
end
local function lease_of(id)
local root = read('r:' .. id)
local h = read_holder(root or id)
if not h or h.expires <= now or (h.owner ~= '' and not root) then return nil end
return h
end
local function lease_of_owner(owner)
local root = owner ~= '' and read('p:' .. owner)
local h = root and read_holder(root)
if not h or h.expires <= now then return nil end
return h
end
local more = false
local function next_expiry()
local first = sole and sole.expires
if more then return 0 end
if many then first = tonumber(redis.call('ZRANGE', expiries, 0, 0, 'WITHSCORES')[2]) end
return first and math.max(0, first - now) or 0
end
local function extend(h, expires)
h.expires = math.max(h.expires, expires)
save_holder(h)
if many then
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
latest = math.max(latest, h.expires)
end
local function add(h)
used = used + h.weight
if h.owner ~= '' then
writes['p:' .. h.owner], writes['r:' .. h.id], h.holds = h.id, h.id, ' ' .. h.id .. ' '
end
extend(h, h.expires)
return h
end
local function remove(h, ordered)
if h.signalled then owed[#owed + 1] = h.signalled end
if h.owner ~= '' then
if read('p:' .. h.owner) == h.id then writes['p:' .. h.owner] = false end
for id in string.gmatch(h.holds, '[^ ]+') do
if read('r:' .. id) == h.id then writes['r:' .. id] = false end
end
end
if not many then
sole = nil
else
writes['h:' .. h.id] = false
if not ordered then
guard()
redis.call('ZREM', expiries, h.id)
end
end
used = used - h.weight
if used == 0 then
latest, many = 0, capacity ~= 1
end
end
local function set_capacity(wanted)
if wanted > 1 and sole then
local h = sole
sole, many = nil, true
h.passes = 0
save_holder(h)
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
capacity = wanted
if used == 0 then many = capacity ~= 1 end
end
local function resize(h, wanted)
if wanted > h.weight then
fence = math.max(fence + 1, now)
h.fence = fence
end
used, h.weight = used + wanted - h.weight, wanted
save_holder(h)
end
local function drop_expired()
if not known then return end
drop_silent(EXPIRE_LIMIT)
if not many then
if sole and sole.expires <= now then remove(sole) end
return
end
local till = string.format('%.0f', now)
local due = redis.call('ZRANGE', expiries, '-inf', till, 'BYSCORE', 'LIMIT', 0, EXPIRE_LIMIT)
if #due == 0 then return end
local names = {}
for index, id in ipairs(due) do names[index] = 'h:' .. id end
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
guard()
redis.call('ZREM', expiries, unpack(due))
for _, id in ipairs(due) do
local h = read_holder(id)
if h then remove(h, true) end
end
end
local function drop_stale(id)
local h = read_holder(id)
if h and h.expires <= now then remove(h) end
end
local function terms(w)
local passes = w.passes
if w.fair == 1 or fair_waiting > 0 or capacity > 1 then passes = 0 end
return math.max(fence + 1, now), passes
end
local function grant(w, lease)
local own, passes = terms(w)
fence = own + passes
return add({
id = w.id, owner = w.owner, weight = w.weight, channel = w.channel, meta = w.meta, ttl = w.ttl,
fence = own, passes = passes, since = now, holds = '', expires = now + lease * 1000,
signalled = w.signalled,
})
end
local function join(h, id, lease, signalled)
h.signalled = h.signalled or signalled
if not string.find(h.holds, ' ' .. id .. ' ', 1, true) then
writes['r:' .. id] = h.id
h.holds = h.holds .. id .. ' '
end
extend(h, now + lease * 1000)
return h
end
local function leave(h, id)
if h.owner ~= '' then
local from, to = string.find(h.holds, ' ' .. id .. ' ', 1, true)
h.holds = string.sub(h.holds, 1, from) .. string.sub(h.holds, to + 1)
writes['r:' .. id] = false
save_holder(h)
if h.holds ~= ' ' then return false end
end
h.signalled = nil
remove(h)
return true
end
local function granted(h)
return { 'granted', now, h.fence, h.expires - now, h.passes, hold_count(h) }
end
local SERVE_LIMIT = 1000
local SIGNAL_LIMIT = 1000
local function read_waiter(id)
local packed = read('w:' .. id)
if not packed then return nil end
local w = { id = id }
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta, w.signalled =
cmsgpack.unpack(packed)
return w
end
local function save_waiter(w)
local signal = { w.signalled }
writes['w:' .. w.id] = cmsgpack.pack(
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta,
unpack(signal))
end
local function queue_length()
return last_ticket > 0 and redis.call('ZCARD', queue) or 0
end
local function enqueue(w)
if w.ticket == 0 then w.ticket = math.max(last_ticket + 1, now) end
last_ticket = math.max(last_ticket, w.ticket)
guard()
redis.call('ZADD', queue, w.ticket, w.id)
save_waiter(w)
fair_waiting = fair_waiting + w.fair
end
local function dequeue(id)
local w = read_waiter(id)
if not w then return nil end
guard()
redis.call('ZREM', queue, id)
writes['w:' .. id] = false
fair_waiting = fair_waiting - w.fair
return w
end
local dead = {}
local function push(channel, message)
if dead[channel] then return false end
guard()
redis.set_repl(redis.REPL_NONE)
local receivers = redis.pcall('PUBLISH', channel, message)
redis.set_repl(redis.REPL_ALL)
dead[channel] = receivers == 0
return receivers ~= 0
end
local function wake(condition, count)
if parked_count() == 0 then return 0 end
local woken = 0
for _ = 1, SIGNAL_LIMIT do
local id = chain('l:' .. condition).first
if id == '' or (count > 0 and woken >= count) then break end
local e = remove_parked(id)
if e.channel == '' or push(e.channel, 's ' .. id) then
e.ticket, e.signalled = 0, condition
enqueue(e)
woken = woken + 1
end
end
return woken
end
local function settle()
local list = owed
owed = {}
for _, condition in ipairs(list) do wake(condition, 1) end
end
local function announce(w, own, lease)
local h_fence, passes, left, holds = nil, nil, lease * 1000, 1
if own then
h_fence, passes, left = own.fence, own.passes, math.max(own.expires - now, left)
holds = hold_count(own) + 1
else
h_fence, passes = terms(w)
end
local message = string.format(
'g %s %.0f %.0f %.0f %.0f %.0f', w.id, h_fence, now, left, passes, holds)
return push(w.channel, message)
end
local function conflicts(own, weight)
return own and own.weight < weight
end
local function serve(self)
settle()
if last_ticket == 0 then return end
for _ = 1, SERVE_LIMIT do
local id = redis.call('ZRANGE', queue, 0, 0)[1]
if not id then return end
local w = read_waiter(id)
if not w then
guard()
redis.call('ZREM', queue, id)
else
local own = lease_of_owner(w.owner)
local hopeless = conflicts(own, w.weight) or (not own and w.weight > capacity)
if not hopeless and not own and used + w.weight > capacity then return end
dequeue(id)
local lease = id == self and w.ttl or math.min(w.ttl, w.claim)
if not hopeless and (id == self or w.channel == '' or announce(w, own, lease)) then
if own then join(own, id, lease, w.signalled) else grant(w, lease) end
else
if w.signalled then owed[#owed + 1] = w.signalled end
settle()
end
end
end
more = queue_length() > 0
end
local function shown_holds(h)
local ids = {}
for id in string.gmatch(h.holds, '[^ ]+') do
if #ids < limit then ids[#ids + 1] = id end
end
return ids
end
if not known then return { 'inspected', now, 0, 0, 0, 0, 0, {}, {}, 0, {} } end
local ids, over, count, weight = {}, {}, 0, used
if not many then
local live = sole and sole.expires > now
ids, over, count = { live and sole.id }, { not live and sole and sole.id }, live and 1 or 0
else
local at = string.format('%.0f', now)
local from = '(' .. at
ids = redis.call('ZRANGE', expiries, from, '+inf', 'BYSCORE', 'LIMIT', 0, limit)
over = redis.call('ZRANGE', expiries, '-inf', at, 'BYSCORE', 'LIMIT', 0, EXPIRE_LIMIT)
count = redis.call('ZCOUNT', expiries, from, '+inf')
end
for _, id in ipairs(over) do
local h = id and read_holder(id)
if h then weight = weight - h.weight end
end
local holders = {}
for _, id in ipairs(ids) do
local h = id and read_holder(id)
if h then
local left, holds = h.expires - now, hold_count(h)
holders[#holders + 1] = {
id, h.owner, h.weight, h.fence, left, holds, h.since, h.meta, shown_holds(h),
}
end
end
local waiters = {}
for _, id in ipairs(redis.call('ZRANGE', queue, 0, limit - 1)) do
local w = read_waiter(id)
if w then waiters[#waiters + 1] = { id, w.owner, w.weight, w.ticket, w.fair, w.meta } end
end
local parked = {}
local at = chain('l').first
while at ~= '' and #parked < limit do
local e = read_parked(at)
parked[#parked + 1] = { at, e.owner, e.condition, e.since, e.meta }
at = e.newer
end
return {
'inspected', now, capacity, weight, fence, count, queue_length(), holders, waiters,
parked_count(), parked,
}
` as string,
  },
  park: {
    name: 'park',
    sha: 'f64e2eb6a0631523ff73abbbe733d35f4b1269d0',
    keys: ['resource', 'queue', 'expiries'],
    args: [
      'id',
      'as',
      'condition',
      'want',
      'ttl',
      'claim',
      'fair',
      'passes',
      'channel',
      'max_parked',
      'retention',
      'meta',
    ],
    source: `local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]
local as = ARGV[2]
local condition = ARGV[3]
local want = ARGV[4]
local ttl = tonumber(ARGV[5])
local claim = tonumber(ARGV[6])
local fair = tonumber(ARGV[7])
local passes = tonumber(ARGV[8])
local channel = ARGV[9]
local max_parked = tonumber(ARGV[10])
local retention = tonumber(ARGV[11])
local meta = ARGV[12]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local seen = redis.call('HGET', resource, 's')
local CHUNK = 1000
local known = seen and true
local loaded, writes = {}, {}
local capacity, fence, last_ticket, used, latest, fair_waiting = 0, 0, 0, 0, 0, 0
local sole -- the only lease of a mutex
local many = false
if known then
local h = {}
capacity, fence, last_ticket, used, latest, fair_waiting, h.id, h.expires, h.weight, h.fence,
h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta, h.signalled, h.seq, h.woken,
h.left = cmsgpack.unpack(seen)
sole = h.id and h
if h.signalled == '' then h.signalled = nil end
many = capacity ~= 1 or (used > 0 and not sole)
local names = { 'h:' .. id, 'w:' .. id, 'r:' .. id, 'l' }
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
end
local function read(field)
local value = writes[field]
if value == nil then value = loaded[field] end
if value == nil then
value = redis.call('HGET', resource, field)
loaded[field] = value
end
return value
end
local function forget_at(retention)
return math.floor((math.max(now, latest) + retention * 1000) / 1000)
end
local guarded = false
local function guard()
if known and not guarded then redis.call('PEXPIREAT', resource, forget_at(retention)) end
guarded = true
end
local function with_signals(h)
if not h.signalled and not h.seq then return h.meta end
return h.meta, h.signalled or '', h.seq or 0, h.woken or 0, h.left or 0
end
local function pack_summary()
if not sole then
return cmsgpack.pack(capacity, fence, last_ticket, used, latest, fair_waiting)
end
return cmsgpack.pack(
capacity, fence, last_ticket, used, latest, fair_waiting, sole.id, sole.expires, sole.weight,
sole.fence, sole.passes, sole.ttl, sole.since, sole.owner, sole.holds, sole.channel,
with_signals(sole))
end
local function in_chunks(command, list)
for from = 1, #list, CHUNK do
redis.call(command, resource, unpack(list, from, math.min(from + CHUNK - 1, #list)))
end
end
local collect
local function flush()
collect()
local at = forget_at(retention)
if known then redis.call('PEXPIREAT', resource, at) end
writes.s = pack_summary()
local set, deleted = {}, {}
for field, value in pairs(writes) do
if value then
set[#set + 1] = field
set[#set + 1] = value
elseif loaded[field] then
deleted[#deleted + 1] = field
end
end
in_chunks('HDEL', deleted)
in_chunks('HSET', set)
if not known then redis.call('PEXPIREAT', resource, at) end
if last_ticket > 0 then redis.call('PEXPIREAT', queue, at) end
if many then redis.call('PEXPIREAT', expiries, at) end
end
local entries, chains, changed = {}, {}, {}
local function chain(name)
local c = chains[name]
if not c then
c = { first = '', last = '', count = 0 }
local packed = known and (name == 'l' or chain('l').count > 0) and read(name)
if packed then c.first, c.last, c.count = cmsgpack.unpack(packed) end
chains[name] = c
end
return c
end
local function parked_count()
return chain('l').count
end
local function read_parked(id)
if entries[id] == nil then
local packed = parked_count() > 0 and read('c:' .. id)
local e = packed and { id = id }
if e then
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer = cmsgpack.unpack(packed)
end
entries[id] = e
end
return entries[id] or nil
end
local function change(id)
changed[id] = true
return read_parked(id)
end
local function link(name, e, back, forth)
local c = chain(name)
e[back], e[forth] = c.last, ''
if c.last ~= '' then change(c.last)[forth] = e.id else c.first = e.id end
c.last, c.count, c.changed = e.id, c.count + 1, true
end
local function unlink(name, e, back, forth)
local c = chain(name)
if e[back] ~= '' then change(e[back])[forth] = e[forth] else c.first = e[forth] end
if e[forth] ~= '' then change(e[forth])[back] = e[back] else c.last = e[back] end
c.count, c.changed = c.count - 1, true
end
local function add_parked(e)
link('l:' .. e.condition, e, 'ahead', 'behind')
link('l', e, 'older', 'newer')
entries[e.id], changed[e.id] = e, true
end
local function remove_parked(id)
local e = read_parked(id)
if not e then return nil end
unlink('l:' .. e.condition, e, 'ahead', 'behind')
unlink('l', e, 'older', 'newer')
entries[id], changed[id] = false, true
return e
end
local function hear(id)
local e = read_parked(id)
if not e or e.till - now >= retention * 500 then return end
unlink('l', e, 'older', 'newer')
link('l', e, 'older', 'newer')
e.till, changed[id] = now + retention * 1000, true
end
local function drop_silent(limit)
for _ = 1, limit do
local id = chain('l').first
if id == '' or read_parked(id).till > now then return end
remove_parked(id)
end
end
collect = function()
for id in pairs(changed) do
local e = entries[id]
writes['c:' .. id] = e and cmsgpack.pack(
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer)
end
for name, c in pairs(chains) do
if c.changed then
writes[name] = c.count > 0 and cmsgpack.pack(c.first, c.last, c.count)
end
end
end
local EXPIRE_LIMIT = 1000
local owed = {}
local function read_holder(id)
if not many then return sole and sole.id == id and sole or nil end
local packed = read('h:' .. id)
if not packed then return nil end
local h = { id = id }
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta,
h.signalled, h.seq, h.woken, h.left = cmsgpack.unpack(packed)
if h.signalled == '' then h.signalled = nil end
return h
end
local function save_holder(h)
if not many then
sole = h
return
end
writes['h:' .. h.id] = cmsgpack.pack(
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel,
with_signals(h))
end
local function hold_count(h)
if h.owner == '' then return 1 end
local _, spaces = string.gsub(h.holds, '[^ ]+', '')
return spaces
end
local function lease_of(id)
local root = read('r:' .. id)
local h = read_holder(root or id)
if not h or h.expires <= now or (h.owner ~= '' and not root) then return nil end
return h
end
local function lease_of_owner(owner)
local root = owner ~= '' and read('p:' .. owner)
local h = root and read_holder(root)
if not h or h.expires <= now then return nil end
return h
end
local more = false
local function next_expiry()
local first = sole and sole.expires
if more then return 0 end
if many then first = tonumber(redis.call('ZRANGE', expiries, 0, 0, 'WITHSCORES')[2]) end
return first and math.max(0, first - now) or 0
end
local function extend(h, expires)
h.expires = math.max(h.expires, expires)
save_holder(h)
if many then
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
latest = math.max(latest, h.expires)
end
local function add(h)
used = used + h.weight
if h.owner ~= '' then
writes['p:' .. h.owner], writes['r:' .. h.id], h.holds = h.id, h.id, ' ' .. h.id .. ' '
end
extend(h, h.expires)
return h
end
local function remove(h, ordered)
if h.signalled then owed[#owed + 1] = h.signalled end
if h.owner ~= '' then
if read('p:' .. h.owner) == h.id then writes['p:' .. h.owner] = false end
for id in string.gmatch(h.holds, '[^ ]+') do
if read('r:' .. id) == h.id then writes['r:' .. id] = false end
end
end
if not many then
sole = nil
else
writes['h:' .. h.id] = false
if not ordered then
guard()
redis.call('ZREM', expiries, h.id)
end
end
used = used - h.weight
if used == 0 then
latest, many = 0, capacity ~= 1
end
end
local function set_capacity(wanted)
if wanted > 1 and sole then
local h = sole
sole, many = nil, true
h.passes = 0
save_holder(h)
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
capacity = wanted
if used == 0 then many = capacity ~= 1 end
end
local function resize(h, wanted)
if wanted > h.weight then
fence = math.max(fence + 1, now)
h.fence = fence
end
used, h.weight = used + wanted - h.weight, wanted
save_holder(h)
end
local function drop_expired()
if not known then return end
drop_silent(EXPIRE_LIMIT)
if not many then
if sole and sole.expires <= now then remove(sole) end
return
end
local till = string.format('%.0f', now)
local due = redis.call('ZRANGE', expiries, '-inf', till, 'BYSCORE', 'LIMIT', 0, EXPIRE_LIMIT)
if #due == 0 then return end
local names = {}
for index, id in ipairs(due) do names[index] = 'h:' .. id end
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
guard()
redis.call('ZREM', expiries, unpack(due))
for _, id in ipairs(due) do
local h = read_holder(id)
if h then remove(h, true) end
end
end
local function drop_stale(id)
local h = read_holder(id)
if h and h.expires <= now then remove(h) end
end
local function terms(w)
local passes = w.passes
if w.fair == 1 or fair_waiting > 0 or capacity > 1 then passes = 0 end
return math.max(fence + 1, now), passes
end
local function grant(w, lease)
local own, passes = terms(w)
fence = own + passes
return add({
id = w.id, owner = w.owner, weight = w.weight, channel = w.channel, meta = w.meta, ttl = w.ttl,
fence = own, passes = passes, since = now, holds = '', expires = now + lease * 1000,
signalled = w.signalled,
})
end
local function join(h, id, lease, signalled)
h.signalled = h.signalled or signalled
if not string.find(h.holds, ' ' .. id .. ' ', 1, true) then
writes['r:' .. id] = h.id
h.holds = h.holds .. id .. ' '
end
extend(h, now + lease * 1000)
return h
end
local function leave(h, id)
if h.owner ~= '' then
local from, to = string.find(h.holds, ' ' .. id .. ' ', 1, true)
h.holds = string.sub(h.holds, 1, from) .. string.sub(h.holds, to + 1)
writes['r:' .. id] = false
save_holder(h)
if h.holds ~= ' ' then return false end
end
h.signalled = nil
remove(h)
return true
end
local function granted(h)
return { 'granted', now, h.fence, h.expires - now, h.passes, hold_count(h) }
end
local SERVE_LIMIT = 1000
local SIGNAL_LIMIT = 1000
local function read_waiter(id)
local packed = read('w:' .. id)
if not packed then return nil end
local w = { id = id }
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta, w.signalled =
cmsgpack.unpack(packed)
return w
end
local function save_waiter(w)
local signal = { w.signalled }
writes['w:' .. w.id] = cmsgpack.pack(
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta,
unpack(signal))
end
local function queue_length()
return last_ticket > 0 and redis.call('ZCARD', queue) or 0
end
local function enqueue(w)
if w.ticket == 0 then w.ticket = math.max(last_ticket + 1, now) end
last_ticket = math.max(last_ticket, w.ticket)
guard()
redis.call('ZADD', queue, w.ticket, w.id)
save_waiter(w)
fair_waiting = fair_waiting + w.fair
end
local function dequeue(id)
local w = read_waiter(id)
if not w then return nil end
guard()
redis.call('ZREM', queue, id)
writes['w:' .. id] = false
fair_waiting = fair_waiting - w.fair
return w
end
local dead = {}
local function push(channel, message)
if dead[channel] then return false end
guard()
redis.set_repl(redis.REPL_NONE)
local receivers = redis.pcall('PUBLISH', channel, message)
redis.set_repl(redis.REPL_ALL)
dead[channel] = receivers == 0
return receivers ~= 0
end
local function wake(condition, count)
if parked_count() == 0 then return 0 end
local woken = 0
for _ = 1, SIGNAL_LIMIT do
local id = chain('l:' .. condition).first
if id == '' or (count > 0 and woken >= count) then break end
local e = remove_parked(id)
if e.channel == '' or push(e.channel, 's ' .. id) then
e.ticket, e.signalled = 0, condition
enqueue(e)
woken = woken + 1
end
end
return woken
end
local function settle()
local list = owed
owed = {}
for _, condition in ipairs(list) do wake(condition, 1) end
end
local function announce(w, own, lease)
local h_fence, passes, left, holds = nil, nil, lease * 1000, 1
if own then
h_fence, passes, left = own.fence, own.passes, math.max(own.expires - now, left)
holds = hold_count(own) + 1
else
h_fence, passes = terms(w)
end
local message = string.format(
'g %s %.0f %.0f %.0f %.0f %.0f', w.id, h_fence, now, left, passes, holds)
return push(w.channel, message)
end
local function conflicts(own, weight)
return own and own.weight < weight
end
local function serve(self)
settle()
if last_ticket == 0 then return end
for _ = 1, SERVE_LIMIT do
local id = redis.call('ZRANGE', queue, 0, 0)[1]
if not id then return end
local w = read_waiter(id)
if not w then
guard()
redis.call('ZREM', queue, id)
else
local own = lease_of_owner(w.owner)
local hopeless = conflicts(own, w.weight) or (not own and w.weight > capacity)
if not hopeless and not own and used + w.weight > capacity then return end
dequeue(id)
local lease = id == self and w.ttl or math.min(w.ttl, w.claim)
if not hopeless and (id == self or w.channel == '' or announce(w, own, lease)) then
if own then join(own, id, lease, w.signalled) else grant(w, lease) end
else
if w.signalled then owed[#owed + 1] = w.signalled end
settle()
end
end
end
more = queue_length() > 0
end
local function park_instead_of(h)
local since = math.max(last_ticket + 1, now)
last_ticket = since
add_parked({
id = as, condition = condition, owner = h.owner, weight = h.weight, ttl = ttl, claim = claim,
fair = fair, passes = passes, channel = channel, meta = meta,
since = since, till = now + retention * 1000,
})
end
local function enter()
local e, w = read_parked(as), read_waiter(as)
if e then
e.channel, changed[as] = channel, true
hear(as)
elseif w then
w.channel = channel
save_waiter(w)
elseif not lease_of(as) then
local h = lease_of(id)
if not h then return { 'absent', now } end
local holds = hold_count(h)
if holds > 1 or capacity ~= 1 or h.weight ~= 1 then return { 'shared', now, holds } end
local length = parked_count()
if want == 'signal' and length >= max_parked then return { 'full', now, length } end
leave(h, id)
park_instead_of(h)
end
end
local function back_to_the_queue()
local e = remove_parked(as)
if not e then return end
e.ticket = 0
enqueue(e)
end
local function give_up()
remove_parked(as)
local w = dequeue(as)
if w and w.signalled then owed[#owed + 1] = w.signalled end
local unused = lease_of(as)
local signalled = unused and unused.signalled
if unused and leave(unused, as) and signalled then owed[#owed + 1] = signalled end
local h = lease_of(id)
if h then leave(h, id) end
return { 'absent', now }
end
local function standing()
local h, w = lease_of(as), read_waiter(as)
if h then
local reply = granted(h)
reply[7] = h.signalled and 1 or 0
return reply
end
if not w then return { 'parked', now } end
return { 'queued', now, w.ticket, next_expiry(), w.signalled and 1 or 0 }
end
if not known then return { 'absent', now } end
drop_expired()
settle()
local refusal
if want == 'nothing' then
refusal = give_up()
else
refusal = enter()
if not refusal and want == 'permits' then back_to_the_queue() end
end
serve(as)
flush()
return refusal or standing()
` as string,
  },
  poll: {
    name: 'poll',
    sha: '1b2ee7070634af159db8a7705088128e94e8ff5b',
    keys: ['resource', 'queue', 'expiries'],
    args: [
      'retention',
      'ids...',
    ],
    source: `local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local retention = tonumber(ARGV[1])
local ids = { unpack(ARGV, 2) }
local id = ''
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local seen = redis.call('HGET', resource, 's')
local CHUNK = 1000
local known = seen and true
local loaded, writes = {}, {}
local capacity, fence, last_ticket, used, latest, fair_waiting = 0, 0, 0, 0, 0, 0
local sole -- the only lease of a mutex
local many = false
if known then
local h = {}
capacity, fence, last_ticket, used, latest, fair_waiting, h.id, h.expires, h.weight, h.fence,
h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta, h.signalled, h.seq, h.woken,
h.left = cmsgpack.unpack(seen)
sole = h.id and h
if h.signalled == '' then h.signalled = nil end
many = capacity ~= 1 or (used > 0 and not sole)
local names = { 'h:' .. id, 'w:' .. id, 'r:' .. id, 'l' }
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
end
local function read(field)
local value = writes[field]
if value == nil then value = loaded[field] end
if value == nil then
value = redis.call('HGET', resource, field)
loaded[field] = value
end
return value
end
local function forget_at(retention)
return math.floor((math.max(now, latest) + retention * 1000) / 1000)
end
local guarded = false
local function guard()
if known and not guarded then redis.call('PEXPIREAT', resource, forget_at(retention)) end
guarded = true
end
local function with_signals(h)
if not h.signalled and not h.seq then return h.meta end
return h.meta, h.signalled or '', h.seq or 0, h.woken or 0, h.left or 0
end
local function pack_summary()
if not sole then
return cmsgpack.pack(capacity, fence, last_ticket, used, latest, fair_waiting)
end
return cmsgpack.pack(
capacity, fence, last_ticket, used, latest, fair_waiting, sole.id, sole.expires, sole.weight,
sole.fence, sole.passes, sole.ttl, sole.since, sole.owner, sole.holds, sole.channel,
with_signals(sole))
end
local function in_chunks(command, list)
for from = 1, #list, CHUNK do
redis.call(command, resource, unpack(list, from, math.min(from + CHUNK - 1, #list)))
end
end
local collect
local function flush()
collect()
local at = forget_at(retention)
if known then redis.call('PEXPIREAT', resource, at) end
writes.s = pack_summary()
local set, deleted = {}, {}
for field, value in pairs(writes) do
if value then
set[#set + 1] = field
set[#set + 1] = value
elseif loaded[field] then
deleted[#deleted + 1] = field
end
end
in_chunks('HDEL', deleted)
in_chunks('HSET', set)
if not known then redis.call('PEXPIREAT', resource, at) end
if last_ticket > 0 then redis.call('PEXPIREAT', queue, at) end
if many then redis.call('PEXPIREAT', expiries, at) end
end
local entries, chains, changed = {}, {}, {}
local function chain(name)
local c = chains[name]
if not c then
c = { first = '', last = '', count = 0 }
local packed = known and (name == 'l' or chain('l').count > 0) and read(name)
if packed then c.first, c.last, c.count = cmsgpack.unpack(packed) end
chains[name] = c
end
return c
end
local function parked_count()
return chain('l').count
end
local function read_parked(id)
if entries[id] == nil then
local packed = parked_count() > 0 and read('c:' .. id)
local e = packed and { id = id }
if e then
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer = cmsgpack.unpack(packed)
end
entries[id] = e
end
return entries[id] or nil
end
local function change(id)
changed[id] = true
return read_parked(id)
end
local function link(name, e, back, forth)
local c = chain(name)
e[back], e[forth] = c.last, ''
if c.last ~= '' then change(c.last)[forth] = e.id else c.first = e.id end
c.last, c.count, c.changed = e.id, c.count + 1, true
end
local function unlink(name, e, back, forth)
local c = chain(name)
if e[back] ~= '' then change(e[back])[forth] = e[forth] else c.first = e[forth] end
if e[forth] ~= '' then change(e[forth])[back] = e[back] else c.last = e[back] end
c.count, c.changed = c.count - 1, true
end
local function add_parked(e)
link('l:' .. e.condition, e, 'ahead', 'behind')
link('l', e, 'older', 'newer')
entries[e.id], changed[e.id] = e, true
end
local function remove_parked(id)
local e = read_parked(id)
if not e then return nil end
unlink('l:' .. e.condition, e, 'ahead', 'behind')
unlink('l', e, 'older', 'newer')
entries[id], changed[id] = false, true
return e
end
local function hear(id)
local e = read_parked(id)
if not e or e.till - now >= retention * 500 then return end
unlink('l', e, 'older', 'newer')
link('l', e, 'older', 'newer')
e.till, changed[id] = now + retention * 1000, true
end
local function drop_silent(limit)
for _ = 1, limit do
local id = chain('l').first
if id == '' or read_parked(id).till > now then return end
remove_parked(id)
end
end
collect = function()
for id in pairs(changed) do
local e = entries[id]
writes['c:' .. id] = e and cmsgpack.pack(
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer)
end
for name, c in pairs(chains) do
if c.changed then
writes[name] = c.count > 0 and cmsgpack.pack(c.first, c.last, c.count)
end
end
end
local EXPIRE_LIMIT = 1000
local owed = {}
local function read_holder(id)
if not many then return sole and sole.id == id and sole or nil end
local packed = read('h:' .. id)
if not packed then return nil end
local h = { id = id }
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta,
h.signalled, h.seq, h.woken, h.left = cmsgpack.unpack(packed)
if h.signalled == '' then h.signalled = nil end
return h
end
local function save_holder(h)
if not many then
sole = h
return
end
writes['h:' .. h.id] = cmsgpack.pack(
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel,
with_signals(h))
end
local function hold_count(h)
if h.owner == '' then return 1 end
local _, spaces = string.gsub(h.holds, '[^ ]+', '')
return spaces
end
local function lease_of(id)
local root = read('r:' .. id)
local h = read_holder(root or id)
if not h or h.expires <= now or (h.owner ~= '' and not root) then return nil end
return h
end
local function lease_of_owner(owner)
local root = owner ~= '' and read('p:' .. owner)
local h = root and read_holder(root)
if not h or h.expires <= now then return nil end
return h
end
local more = false
local function next_expiry()
local first = sole and sole.expires
if more then return 0 end
if many then first = tonumber(redis.call('ZRANGE', expiries, 0, 0, 'WITHSCORES')[2]) end
return first and math.max(0, first - now) or 0
end
local function extend(h, expires)
h.expires = math.max(h.expires, expires)
save_holder(h)
if many then
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
latest = math.max(latest, h.expires)
end
local function add(h)
used = used + h.weight
if h.owner ~= '' then
writes['p:' .. h.owner], writes['r:' .. h.id], h.holds = h.id, h.id, ' ' .. h.id .. ' '
end
extend(h, h.expires)
return h
end
local function remove(h, ordered)
if h.signalled then owed[#owed + 1] = h.signalled end
if h.owner ~= '' then
if read('p:' .. h.owner) == h.id then writes['p:' .. h.owner] = false end
for id in string.gmatch(h.holds, '[^ ]+') do
if read('r:' .. id) == h.id then writes['r:' .. id] = false end
end
end
if not many then
sole = nil
else
writes['h:' .. h.id] = false
if not ordered then
guard()
redis.call('ZREM', expiries, h.id)
end
end
used = used - h.weight
if used == 0 then
latest, many = 0, capacity ~= 1
end
end
local function set_capacity(wanted)
if wanted > 1 and sole then
local h = sole
sole, many = nil, true
h.passes = 0
save_holder(h)
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
capacity = wanted
if used == 0 then many = capacity ~= 1 end
end
local function resize(h, wanted)
if wanted > h.weight then
fence = math.max(fence + 1, now)
h.fence = fence
end
used, h.weight = used + wanted - h.weight, wanted
save_holder(h)
end
local function drop_expired()
if not known then return end
drop_silent(EXPIRE_LIMIT)
if not many then
if sole and sole.expires <= now then remove(sole) end
return
end
local till = string.format('%.0f', now)
local due = redis.call('ZRANGE', expiries, '-inf', till, 'BYSCORE', 'LIMIT', 0, EXPIRE_LIMIT)
if #due == 0 then return end
local names = {}
for index, id in ipairs(due) do names[index] = 'h:' .. id end
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
guard()
redis.call('ZREM', expiries, unpack(due))
for _, id in ipairs(due) do
local h = read_holder(id)
if h then remove(h, true) end
end
end
local function drop_stale(id)
local h = read_holder(id)
if h and h.expires <= now then remove(h) end
end
local function terms(w)
local passes = w.passes
if w.fair == 1 or fair_waiting > 0 or capacity > 1 then passes = 0 end
return math.max(fence + 1, now), passes
end
local function grant(w, lease)
local own, passes = terms(w)
fence = own + passes
return add({
id = w.id, owner = w.owner, weight = w.weight, channel = w.channel, meta = w.meta, ttl = w.ttl,
fence = own, passes = passes, since = now, holds = '', expires = now + lease * 1000,
signalled = w.signalled,
})
end
local function join(h, id, lease, signalled)
h.signalled = h.signalled or signalled
if not string.find(h.holds, ' ' .. id .. ' ', 1, true) then
writes['r:' .. id] = h.id
h.holds = h.holds .. id .. ' '
end
extend(h, now + lease * 1000)
return h
end
local function leave(h, id)
if h.owner ~= '' then
local from, to = string.find(h.holds, ' ' .. id .. ' ', 1, true)
h.holds = string.sub(h.holds, 1, from) .. string.sub(h.holds, to + 1)
writes['r:' .. id] = false
save_holder(h)
if h.holds ~= ' ' then return false end
end
h.signalled = nil
remove(h)
return true
end
local function granted(h)
return { 'granted', now, h.fence, h.expires - now, h.passes, hold_count(h) }
end
local SERVE_LIMIT = 1000
local SIGNAL_LIMIT = 1000
local function read_waiter(id)
local packed = read('w:' .. id)
if not packed then return nil end
local w = { id = id }
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta, w.signalled =
cmsgpack.unpack(packed)
return w
end
local function save_waiter(w)
local signal = { w.signalled }
writes['w:' .. w.id] = cmsgpack.pack(
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta,
unpack(signal))
end
local function queue_length()
return last_ticket > 0 and redis.call('ZCARD', queue) or 0
end
local function enqueue(w)
if w.ticket == 0 then w.ticket = math.max(last_ticket + 1, now) end
last_ticket = math.max(last_ticket, w.ticket)
guard()
redis.call('ZADD', queue, w.ticket, w.id)
save_waiter(w)
fair_waiting = fair_waiting + w.fair
end
local function dequeue(id)
local w = read_waiter(id)
if not w then return nil end
guard()
redis.call('ZREM', queue, id)
writes['w:' .. id] = false
fair_waiting = fair_waiting - w.fair
return w
end
local dead = {}
local function push(channel, message)
if dead[channel] then return false end
guard()
redis.set_repl(redis.REPL_NONE)
local receivers = redis.pcall('PUBLISH', channel, message)
redis.set_repl(redis.REPL_ALL)
dead[channel] = receivers == 0
return receivers ~= 0
end
local function wake(condition, count)
if parked_count() == 0 then return 0 end
local woken = 0
for _ = 1, SIGNAL_LIMIT do
local id = chain('l:' .. condition).first
if id == '' or (count > 0 and woken >= count) then break end
local e = remove_parked(id)
if e.channel == '' or push(e.channel, 's ' .. id) then
e.ticket, e.signalled = 0, condition
enqueue(e)
woken = woken + 1
end
end
return woken
end
local function settle()
local list = owed
owed = {}
for _, condition in ipairs(list) do wake(condition, 1) end
end
local function announce(w, own, lease)
local h_fence, passes, left, holds = nil, nil, lease * 1000, 1
if own then
h_fence, passes, left = own.fence, own.passes, math.max(own.expires - now, left)
holds = hold_count(own) + 1
else
h_fence, passes = terms(w)
end
local message = string.format(
'g %s %.0f %.0f %.0f %.0f %.0f', w.id, h_fence, now, left, passes, holds)
return push(w.channel, message)
end
local function conflicts(own, weight)
return own and own.weight < weight
end
local function serve(self)
settle()
if last_ticket == 0 then return end
for _ = 1, SERVE_LIMIT do
local id = redis.call('ZRANGE', queue, 0, 0)[1]
if not id then return end
local w = read_waiter(id)
if not w then
guard()
redis.call('ZREM', queue, id)
else
local own = lease_of_owner(w.owner)
local hopeless = conflicts(own, w.weight) or (not own and w.weight > capacity)
if not hopeless and not own and used + w.weight > capacity then return end
dequeue(id)
local lease = id == self and w.ttl or math.min(w.ttl, w.claim)
if not hopeless and (id == self or w.channel == '' or announce(w, own, lease)) then
if own then join(own, id, lease, w.signalled) else grant(w, lease) end
else
if w.signalled then owed[#owed + 1] = w.signalled end
settle()
end
end
end
more = queue_length() > 0
end
local function standing(id)
local h = lease_of(id)
if h then return { 'granted', h.fence, h.expires - now, h.passes, hold_count(h) } end
if read('w:' .. id) then return { 'queued' } end
hear(id)
return { read_parked(id) and 'parked' or 'absent' }
end
local standings = {}
if not known then
for index = 1, #ids do standings[index] = { 'absent' } end
return { 'polled', now, 0, standings }
end
drop_expired()
serve('')
for index, id in ipairs(ids) do standings[index] = standing(id) end
flush()
return { 'polled', now, next_expiry(), standings }
` as string,
  },
  release: {
    name: 'release',
    sha: '1f8f4e8bf488a4c2aa7778615ea4df7e1627a573',
    keys: ['resource', 'queue', 'expiries'],
    args: [
      'id',
      'to',
      'retention',
    ],
    source: `local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]
local to = ARGV[2]
local retention = tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local seen = redis.call('HGET', resource, 's')
if seen and to == '' then
local c, fence, last_ticket, _, _, _, sole, expires, _, _, _, _, _, owner = cmsgpack.unpack(seen)
local ordinary = sole == id and expires > now and owner == ''
if ordinary and (last_ticket == 0 or redis.call('ZCARD', queue) == 0) then
redis.call('PEXPIREAT', resource, math.floor((now + retention * 1000) / 1000))
redis.call('HSET', resource, 's', cmsgpack.pack(c, fence, last_ticket, 0, 0, 0))
return now
end
end
local CHUNK = 1000
local known = seen and true
local loaded, writes = {}, {}
local capacity, fence, last_ticket, used, latest, fair_waiting = 0, 0, 0, 0, 0, 0
local sole -- the only lease of a mutex
local many = false
if known then
local h = {}
capacity, fence, last_ticket, used, latest, fair_waiting, h.id, h.expires, h.weight, h.fence,
h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta, h.signalled, h.seq, h.woken,
h.left = cmsgpack.unpack(seen)
sole = h.id and h
if h.signalled == '' then h.signalled = nil end
many = capacity ~= 1 or (used > 0 and not sole)
local names = { 'h:' .. id, 'w:' .. id, 'r:' .. id, 'l' }
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
end
local function read(field)
local value = writes[field]
if value == nil then value = loaded[field] end
if value == nil then
value = redis.call('HGET', resource, field)
loaded[field] = value
end
return value
end
local function forget_at(retention)
return math.floor((math.max(now, latest) + retention * 1000) / 1000)
end
local guarded = false
local function guard()
if known and not guarded then redis.call('PEXPIREAT', resource, forget_at(retention)) end
guarded = true
end
local function with_signals(h)
if not h.signalled and not h.seq then return h.meta end
return h.meta, h.signalled or '', h.seq or 0, h.woken or 0, h.left or 0
end
local function pack_summary()
if not sole then
return cmsgpack.pack(capacity, fence, last_ticket, used, latest, fair_waiting)
end
return cmsgpack.pack(
capacity, fence, last_ticket, used, latest, fair_waiting, sole.id, sole.expires, sole.weight,
sole.fence, sole.passes, sole.ttl, sole.since, sole.owner, sole.holds, sole.channel,
with_signals(sole))
end
local function in_chunks(command, list)
for from = 1, #list, CHUNK do
redis.call(command, resource, unpack(list, from, math.min(from + CHUNK - 1, #list)))
end
end
local collect
local function flush()
collect()
local at = forget_at(retention)
if known then redis.call('PEXPIREAT', resource, at) end
writes.s = pack_summary()
local set, deleted = {}, {}
for field, value in pairs(writes) do
if value then
set[#set + 1] = field
set[#set + 1] = value
elseif loaded[field] then
deleted[#deleted + 1] = field
end
end
in_chunks('HDEL', deleted)
in_chunks('HSET', set)
if not known then redis.call('PEXPIREAT', resource, at) end
if last_ticket > 0 then redis.call('PEXPIREAT', queue, at) end
if many then redis.call('PEXPIREAT', expiries, at) end
end
local entries, chains, changed = {}, {}, {}
local function chain(name)
local c = chains[name]
if not c then
c = { first = '', last = '', count = 0 }
local packed = known and (name == 'l' or chain('l').count > 0) and read(name)
if packed then c.first, c.last, c.count = cmsgpack.unpack(packed) end
chains[name] = c
end
return c
end
local function parked_count()
return chain('l').count
end
local function read_parked(id)
if entries[id] == nil then
local packed = parked_count() > 0 and read('c:' .. id)
local e = packed and { id = id }
if e then
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer = cmsgpack.unpack(packed)
end
entries[id] = e
end
return entries[id] or nil
end
local function change(id)
changed[id] = true
return read_parked(id)
end
local function link(name, e, back, forth)
local c = chain(name)
e[back], e[forth] = c.last, ''
if c.last ~= '' then change(c.last)[forth] = e.id else c.first = e.id end
c.last, c.count, c.changed = e.id, c.count + 1, true
end
local function unlink(name, e, back, forth)
local c = chain(name)
if e[back] ~= '' then change(e[back])[forth] = e[forth] else c.first = e[forth] end
if e[forth] ~= '' then change(e[forth])[back] = e[back] else c.last = e[back] end
c.count, c.changed = c.count - 1, true
end
local function add_parked(e)
link('l:' .. e.condition, e, 'ahead', 'behind')
link('l', e, 'older', 'newer')
entries[e.id], changed[e.id] = e, true
end
local function remove_parked(id)
local e = read_parked(id)
if not e then return nil end
unlink('l:' .. e.condition, e, 'ahead', 'behind')
unlink('l', e, 'older', 'newer')
entries[id], changed[id] = false, true
return e
end
local function hear(id)
local e = read_parked(id)
if not e or e.till - now >= retention * 500 then return end
unlink('l', e, 'older', 'newer')
link('l', e, 'older', 'newer')
e.till, changed[id] = now + retention * 1000, true
end
local function drop_silent(limit)
for _ = 1, limit do
local id = chain('l').first
if id == '' or read_parked(id).till > now then return end
remove_parked(id)
end
end
collect = function()
for id in pairs(changed) do
local e = entries[id]
writes['c:' .. id] = e and cmsgpack.pack(
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer)
end
for name, c in pairs(chains) do
if c.changed then
writes[name] = c.count > 0 and cmsgpack.pack(c.first, c.last, c.count)
end
end
end
local EXPIRE_LIMIT = 1000
local owed = {}
local function read_holder(id)
if not many then return sole and sole.id == id and sole or nil end
local packed = read('h:' .. id)
if not packed then return nil end
local h = { id = id }
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta,
h.signalled, h.seq, h.woken, h.left = cmsgpack.unpack(packed)
if h.signalled == '' then h.signalled = nil end
return h
end
local function save_holder(h)
if not many then
sole = h
return
end
writes['h:' .. h.id] = cmsgpack.pack(
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel,
with_signals(h))
end
local function hold_count(h)
if h.owner == '' then return 1 end
local _, spaces = string.gsub(h.holds, '[^ ]+', '')
return spaces
end
local function lease_of(id)
local root = read('r:' .. id)
local h = read_holder(root or id)
if not h or h.expires <= now or (h.owner ~= '' and not root) then return nil end
return h
end
local function lease_of_owner(owner)
local root = owner ~= '' and read('p:' .. owner)
local h = root and read_holder(root)
if not h or h.expires <= now then return nil end
return h
end
local more = false
local function next_expiry()
local first = sole and sole.expires
if more then return 0 end
if many then first = tonumber(redis.call('ZRANGE', expiries, 0, 0, 'WITHSCORES')[2]) end
return first and math.max(0, first - now) or 0
end
local function extend(h, expires)
h.expires = math.max(h.expires, expires)
save_holder(h)
if many then
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
latest = math.max(latest, h.expires)
end
local function add(h)
used = used + h.weight
if h.owner ~= '' then
writes['p:' .. h.owner], writes['r:' .. h.id], h.holds = h.id, h.id, ' ' .. h.id .. ' '
end
extend(h, h.expires)
return h
end
local function remove(h, ordered)
if h.signalled then owed[#owed + 1] = h.signalled end
if h.owner ~= '' then
if read('p:' .. h.owner) == h.id then writes['p:' .. h.owner] = false end
for id in string.gmatch(h.holds, '[^ ]+') do
if read('r:' .. id) == h.id then writes['r:' .. id] = false end
end
end
if not many then
sole = nil
else
writes['h:' .. h.id] = false
if not ordered then
guard()
redis.call('ZREM', expiries, h.id)
end
end
used = used - h.weight
if used == 0 then
latest, many = 0, capacity ~= 1
end
end
local function set_capacity(wanted)
if wanted > 1 and sole then
local h = sole
sole, many = nil, true
h.passes = 0
save_holder(h)
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
capacity = wanted
if used == 0 then many = capacity ~= 1 end
end
local function resize(h, wanted)
if wanted > h.weight then
fence = math.max(fence + 1, now)
h.fence = fence
end
used, h.weight = used + wanted - h.weight, wanted
save_holder(h)
end
local function drop_expired()
if not known then return end
drop_silent(EXPIRE_LIMIT)
if not many then
if sole and sole.expires <= now then remove(sole) end
return
end
local till = string.format('%.0f', now)
local due = redis.call('ZRANGE', expiries, '-inf', till, 'BYSCORE', 'LIMIT', 0, EXPIRE_LIMIT)
if #due == 0 then return end
local names = {}
for index, id in ipairs(due) do names[index] = 'h:' .. id end
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
guard()
redis.call('ZREM', expiries, unpack(due))
for _, id in ipairs(due) do
local h = read_holder(id)
if h then remove(h, true) end
end
end
local function drop_stale(id)
local h = read_holder(id)
if h and h.expires <= now then remove(h) end
end
local function terms(w)
local passes = w.passes
if w.fair == 1 or fair_waiting > 0 or capacity > 1 then passes = 0 end
return math.max(fence + 1, now), passes
end
local function grant(w, lease)
local own, passes = terms(w)
fence = own + passes
return add({
id = w.id, owner = w.owner, weight = w.weight, channel = w.channel, meta = w.meta, ttl = w.ttl,
fence = own, passes = passes, since = now, holds = '', expires = now + lease * 1000,
signalled = w.signalled,
})
end
local function join(h, id, lease, signalled)
h.signalled = h.signalled or signalled
if not string.find(h.holds, ' ' .. id .. ' ', 1, true) then
writes['r:' .. id] = h.id
h.holds = h.holds .. id .. ' '
end
extend(h, now + lease * 1000)
return h
end
local function leave(h, id)
if h.owner ~= '' then
local from, to = string.find(h.holds, ' ' .. id .. ' ', 1, true)
h.holds = string.sub(h.holds, 1, from) .. string.sub(h.holds, to + 1)
writes['r:' .. id] = false
save_holder(h)
if h.holds ~= ' ' then return false end
end
h.signalled = nil
remove(h)
return true
end
local function granted(h)
return { 'granted', now, h.fence, h.expires - now, h.passes, hold_count(h) }
end
local SERVE_LIMIT = 1000
local SIGNAL_LIMIT = 1000
local function read_waiter(id)
local packed = read('w:' .. id)
if not packed then return nil end
local w = { id = id }
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta, w.signalled =
cmsgpack.unpack(packed)
return w
end
local function save_waiter(w)
local signal = { w.signalled }
writes['w:' .. w.id] = cmsgpack.pack(
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta,
unpack(signal))
end
local function queue_length()
return last_ticket > 0 and redis.call('ZCARD', queue) or 0
end
local function enqueue(w)
if w.ticket == 0 then w.ticket = math.max(last_ticket + 1, now) end
last_ticket = math.max(last_ticket, w.ticket)
guard()
redis.call('ZADD', queue, w.ticket, w.id)
save_waiter(w)
fair_waiting = fair_waiting + w.fair
end
local function dequeue(id)
local w = read_waiter(id)
if not w then return nil end
guard()
redis.call('ZREM', queue, id)
writes['w:' .. id] = false
fair_waiting = fair_waiting - w.fair
return w
end
local dead = {}
local function push(channel, message)
if dead[channel] then return false end
guard()
redis.set_repl(redis.REPL_NONE)
local receivers = redis.pcall('PUBLISH', channel, message)
redis.set_repl(redis.REPL_ALL)
dead[channel] = receivers == 0
return receivers ~= 0
end
local function wake(condition, count)
if parked_count() == 0 then return 0 end
local woken = 0
for _ = 1, SIGNAL_LIMIT do
local id = chain('l:' .. condition).first
if id == '' or (count > 0 and woken >= count) then break end
local e = remove_parked(id)
if e.channel == '' or push(e.channel, 's ' .. id) then
e.ticket, e.signalled = 0, condition
enqueue(e)
woken = woken + 1
end
end
return woken
end
local function settle()
local list = owed
owed = {}
for _, condition in ipairs(list) do wake(condition, 1) end
end
local function announce(w, own, lease)
local h_fence, passes, left, holds = nil, nil, lease * 1000, 1
if own then
h_fence, passes, left = own.fence, own.passes, math.max(own.expires - now, left)
holds = hold_count(own) + 1
else
h_fence, passes = terms(w)
end
local message = string.format(
'g %s %.0f %.0f %.0f %.0f %.0f', w.id, h_fence, now, left, passes, holds)
return push(w.channel, message)
end
local function conflicts(own, weight)
return own and own.weight < weight
end
local function serve(self)
settle()
if last_ticket == 0 then return end
for _ = 1, SERVE_LIMIT do
local id = redis.call('ZRANGE', queue, 0, 0)[1]
if not id then return end
local w = read_waiter(id)
if not w then
guard()
redis.call('ZREM', queue, id)
else
local own = lease_of_owner(w.owner)
local hopeless = conflicts(own, w.weight) or (not own and w.weight > capacity)
if not hopeless and not own and used + w.weight > capacity then return end
dequeue(id)
local lease = id == self and w.ttl or math.min(w.ttl, w.claim)
if not hopeless and (id == self or w.channel == '' or announce(w, own, lease)) then
if own then join(own, id, lease, w.signalled) else grant(w, lease) end
else
if w.signalled then owed[#owed + 1] = w.signalled end
settle()
end
end
end
more = queue_length() > 0
end
local function may_pass(h, successor)
if to == '' or h.passes == 0 or h.owner ~= '' then return false end
return not successor or (successor.owner == '' and successor.weight == 1)
end
local function let_go(h)
if not leave(h, id) then return 'kept' end
local successor = to ~= '' and read_waiter(to)
if not may_pass(h, successor) then return 'freed' end
local from = successor or h
dequeue(to)
add({
id = to, owner = '', holds = '', weight = h.weight,
ttl = from.ttl, channel = from.channel, meta = from.meta,
fence = h.fence + 1, passes = h.passes - 1, since = now, expires = h.expires,
signalled = successor and successor.signalled or nil,
})
return 'passed'
end
local function withdraw()
local w = dequeue(id)
if not w then return remove_parked(id) end
if w.signalled then owed[#owed + 1] = w.signalled end
return true
end
if not known then return { 'absent', now, 0 } end
drop_expired()
local held = lease_of(id)
local status
if held then
status = let_go(held)
elseif withdraw() then
status = 'dequeued'
else
status = to ~= '' and lease_of(to) and 'passed' or 'absent'
end
serve('')
flush()
return { status, now, status == 'kept' and hold_count(read_holder(held.id)) or 0 }
` as string,
  },
  renew: {
    name: 'renew',
    sha: 'edd64fa1920b86ec82633e28e4c2921b78f557f3',
    keys: ['resource', 'queue', 'expiries'],
    args: [
      'id',
      'ttl',
      'retention',
    ],
    source: `local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]
local ttl = tonumber(ARGV[2])
local retention = tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local seen = redis.call('HGET', resource, 's')
local CHUNK = 1000
local known = seen and true
local loaded, writes = {}, {}
local capacity, fence, last_ticket, used, latest, fair_waiting = 0, 0, 0, 0, 0, 0
local sole -- the only lease of a mutex
local many = false
if known then
local h = {}
capacity, fence, last_ticket, used, latest, fair_waiting, h.id, h.expires, h.weight, h.fence,
h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta, h.signalled, h.seq, h.woken,
h.left = cmsgpack.unpack(seen)
sole = h.id and h
if h.signalled == '' then h.signalled = nil end
many = capacity ~= 1 or (used > 0 and not sole)
local names = { 'h:' .. id, 'w:' .. id, 'r:' .. id, 'l' }
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
end
local function read(field)
local value = writes[field]
if value == nil then value = loaded[field] end
if value == nil then
value = redis.call('HGET', resource, field)
loaded[field] = value
end
return value
end
local function forget_at(retention)
return math.floor((math.max(now, latest) + retention * 1000) / 1000)
end
local guarded = false
local function guard()
if known and not guarded then redis.call('PEXPIREAT', resource, forget_at(retention)) end
guarded = true
end
local function with_signals(h)
if not h.signalled and not h.seq then return h.meta end
return h.meta, h.signalled or '', h.seq or 0, h.woken or 0, h.left or 0
end
local function pack_summary()
if not sole then
return cmsgpack.pack(capacity, fence, last_ticket, used, latest, fair_waiting)
end
return cmsgpack.pack(
capacity, fence, last_ticket, used, latest, fair_waiting, sole.id, sole.expires, sole.weight,
sole.fence, sole.passes, sole.ttl, sole.since, sole.owner, sole.holds, sole.channel,
with_signals(sole))
end
local function in_chunks(command, list)
for from = 1, #list, CHUNK do
redis.call(command, resource, unpack(list, from, math.min(from + CHUNK - 1, #list)))
end
end
local collect
local function flush()
collect()
local at = forget_at(retention)
if known then redis.call('PEXPIREAT', resource, at) end
writes.s = pack_summary()
local set, deleted = {}, {}
for field, value in pairs(writes) do
if value then
set[#set + 1] = field
set[#set + 1] = value
elseif loaded[field] then
deleted[#deleted + 1] = field
end
end
in_chunks('HDEL', deleted)
in_chunks('HSET', set)
if not known then redis.call('PEXPIREAT', resource, at) end
if last_ticket > 0 then redis.call('PEXPIREAT', queue, at) end
if many then redis.call('PEXPIREAT', expiries, at) end
end
local entries, chains, changed = {}, {}, {}
local function chain(name)
local c = chains[name]
if not c then
c = { first = '', last = '', count = 0 }
local packed = known and (name == 'l' or chain('l').count > 0) and read(name)
if packed then c.first, c.last, c.count = cmsgpack.unpack(packed) end
chains[name] = c
end
return c
end
local function parked_count()
return chain('l').count
end
local function read_parked(id)
if entries[id] == nil then
local packed = parked_count() > 0 and read('c:' .. id)
local e = packed and { id = id }
if e then
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer = cmsgpack.unpack(packed)
end
entries[id] = e
end
return entries[id] or nil
end
local function change(id)
changed[id] = true
return read_parked(id)
end
local function link(name, e, back, forth)
local c = chain(name)
e[back], e[forth] = c.last, ''
if c.last ~= '' then change(c.last)[forth] = e.id else c.first = e.id end
c.last, c.count, c.changed = e.id, c.count + 1, true
end
local function unlink(name, e, back, forth)
local c = chain(name)
if e[back] ~= '' then change(e[back])[forth] = e[forth] else c.first = e[forth] end
if e[forth] ~= '' then change(e[forth])[back] = e[back] else c.last = e[back] end
c.count, c.changed = c.count - 1, true
end
local function add_parked(e)
link('l:' .. e.condition, e, 'ahead', 'behind')
link('l', e, 'older', 'newer')
entries[e.id], changed[e.id] = e, true
end
local function remove_parked(id)
local e = read_parked(id)
if not e then return nil end
unlink('l:' .. e.condition, e, 'ahead', 'behind')
unlink('l', e, 'older', 'newer')
entries[id], changed[id] = false, true
return e
end
local function hear(id)
local e = read_parked(id)
if not e or e.till - now >= retention * 500 then return end
unlink('l', e, 'older', 'newer')
link('l', e, 'older', 'newer')
e.till, changed[id] = now + retention * 1000, true
end
local function drop_silent(limit)
for _ = 1, limit do
local id = chain('l').first
if id == '' or read_parked(id).till > now then return end
remove_parked(id)
end
end
collect = function()
for id in pairs(changed) do
local e = entries[id]
writes['c:' .. id] = e and cmsgpack.pack(
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer)
end
for name, c in pairs(chains) do
if c.changed then
writes[name] = c.count > 0 and cmsgpack.pack(c.first, c.last, c.count)
end
end
end
local EXPIRE_LIMIT = 1000
local owed = {}
local function read_holder(id)
if not many then return sole and sole.id == id and sole or nil end
local packed = read('h:' .. id)
if not packed then return nil end
local h = { id = id }
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta,
h.signalled, h.seq, h.woken, h.left = cmsgpack.unpack(packed)
if h.signalled == '' then h.signalled = nil end
return h
end
local function save_holder(h)
if not many then
sole = h
return
end
writes['h:' .. h.id] = cmsgpack.pack(
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel,
with_signals(h))
end
local function hold_count(h)
if h.owner == '' then return 1 end
local _, spaces = string.gsub(h.holds, '[^ ]+', '')
return spaces
end
local function lease_of(id)
local root = read('r:' .. id)
local h = read_holder(root or id)
if not h or h.expires <= now or (h.owner ~= '' and not root) then return nil end
return h
end
local function lease_of_owner(owner)
local root = owner ~= '' and read('p:' .. owner)
local h = root and read_holder(root)
if not h or h.expires <= now then return nil end
return h
end
local more = false
local function next_expiry()
local first = sole and sole.expires
if more then return 0 end
if many then first = tonumber(redis.call('ZRANGE', expiries, 0, 0, 'WITHSCORES')[2]) end
return first and math.max(0, first - now) or 0
end
local function extend(h, expires)
h.expires = math.max(h.expires, expires)
save_holder(h)
if many then
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
latest = math.max(latest, h.expires)
end
local function add(h)
used = used + h.weight
if h.owner ~= '' then
writes['p:' .. h.owner], writes['r:' .. h.id], h.holds = h.id, h.id, ' ' .. h.id .. ' '
end
extend(h, h.expires)
return h
end
local function remove(h, ordered)
if h.signalled then owed[#owed + 1] = h.signalled end
if h.owner ~= '' then
if read('p:' .. h.owner) == h.id then writes['p:' .. h.owner] = false end
for id in string.gmatch(h.holds, '[^ ]+') do
if read('r:' .. id) == h.id then writes['r:' .. id] = false end
end
end
if not many then
sole = nil
else
writes['h:' .. h.id] = false
if not ordered then
guard()
redis.call('ZREM', expiries, h.id)
end
end
used = used - h.weight
if used == 0 then
latest, many = 0, capacity ~= 1
end
end
local function set_capacity(wanted)
if wanted > 1 and sole then
local h = sole
sole, many = nil, true
h.passes = 0
save_holder(h)
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
capacity = wanted
if used == 0 then many = capacity ~= 1 end
end
local function resize(h, wanted)
if wanted > h.weight then
fence = math.max(fence + 1, now)
h.fence = fence
end
used, h.weight = used + wanted - h.weight, wanted
save_holder(h)
end
local function drop_expired()
if not known then return end
drop_silent(EXPIRE_LIMIT)
if not many then
if sole and sole.expires <= now then remove(sole) end
return
end
local till = string.format('%.0f', now)
local due = redis.call('ZRANGE', expiries, '-inf', till, 'BYSCORE', 'LIMIT', 0, EXPIRE_LIMIT)
if #due == 0 then return end
local names = {}
for index, id in ipairs(due) do names[index] = 'h:' .. id end
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
guard()
redis.call('ZREM', expiries, unpack(due))
for _, id in ipairs(due) do
local h = read_holder(id)
if h then remove(h, true) end
end
end
local function drop_stale(id)
local h = read_holder(id)
if h and h.expires <= now then remove(h) end
end
local function terms(w)
local passes = w.passes
if w.fair == 1 or fair_waiting > 0 or capacity > 1 then passes = 0 end
return math.max(fence + 1, now), passes
end
local function grant(w, lease)
local own, passes = terms(w)
fence = own + passes
return add({
id = w.id, owner = w.owner, weight = w.weight, channel = w.channel, meta = w.meta, ttl = w.ttl,
fence = own, passes = passes, since = now, holds = '', expires = now + lease * 1000,
signalled = w.signalled,
})
end
local function join(h, id, lease, signalled)
h.signalled = h.signalled or signalled
if not string.find(h.holds, ' ' .. id .. ' ', 1, true) then
writes['r:' .. id] = h.id
h.holds = h.holds .. id .. ' '
end
extend(h, now + lease * 1000)
return h
end
local function leave(h, id)
if h.owner ~= '' then
local from, to = string.find(h.holds, ' ' .. id .. ' ', 1, true)
h.holds = string.sub(h.holds, 1, from) .. string.sub(h.holds, to + 1)
writes['r:' .. id] = false
save_holder(h)
if h.holds ~= ' ' then return false end
end
h.signalled = nil
remove(h)
return true
end
local function granted(h)
return { 'granted', now, h.fence, h.expires - now, h.passes, hold_count(h) }
end
local SERVE_LIMIT = 1000
local SIGNAL_LIMIT = 1000
local function read_waiter(id)
local packed = read('w:' .. id)
if not packed then return nil end
local w = { id = id }
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta, w.signalled =
cmsgpack.unpack(packed)
return w
end
local function save_waiter(w)
local signal = { w.signalled }
writes['w:' .. w.id] = cmsgpack.pack(
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta,
unpack(signal))
end
local function queue_length()
return last_ticket > 0 and redis.call('ZCARD', queue) or 0
end
local function enqueue(w)
if w.ticket == 0 then w.ticket = math.max(last_ticket + 1, now) end
last_ticket = math.max(last_ticket, w.ticket)
guard()
redis.call('ZADD', queue, w.ticket, w.id)
save_waiter(w)
fair_waiting = fair_waiting + w.fair
end
local function dequeue(id)
local w = read_waiter(id)
if not w then return nil end
guard()
redis.call('ZREM', queue, id)
writes['w:' .. id] = false
fair_waiting = fair_waiting - w.fair
return w
end
local dead = {}
local function push(channel, message)
if dead[channel] then return false end
guard()
redis.set_repl(redis.REPL_NONE)
local receivers = redis.pcall('PUBLISH', channel, message)
redis.set_repl(redis.REPL_ALL)
dead[channel] = receivers == 0
return receivers ~= 0
end
local function wake(condition, count)
if parked_count() == 0 then return 0 end
local woken = 0
for _ = 1, SIGNAL_LIMIT do
local id = chain('l:' .. condition).first
if id == '' or (count > 0 and woken >= count) then break end
local e = remove_parked(id)
if e.channel == '' or push(e.channel, 's ' .. id) then
e.ticket, e.signalled = 0, condition
enqueue(e)
woken = woken + 1
end
end
return woken
end
local function settle()
local list = owed
owed = {}
for _, condition in ipairs(list) do wake(condition, 1) end
end
local function announce(w, own, lease)
local h_fence, passes, left, holds = nil, nil, lease * 1000, 1
if own then
h_fence, passes, left = own.fence, own.passes, math.max(own.expires - now, left)
holds = hold_count(own) + 1
else
h_fence, passes = terms(w)
end
local message = string.format(
'g %s %.0f %.0f %.0f %.0f %.0f', w.id, h_fence, now, left, passes, holds)
return push(w.channel, message)
end
local function conflicts(own, weight)
return own and own.weight < weight
end
local function serve(self)
settle()
if last_ticket == 0 then return end
for _ = 1, SERVE_LIMIT do
local id = redis.call('ZRANGE', queue, 0, 0)[1]
if not id then return end
local w = read_waiter(id)
if not w then
guard()
redis.call('ZREM', queue, id)
else
local own = lease_of_owner(w.owner)
local hopeless = conflicts(own, w.weight) or (not own and w.weight > capacity)
if not hopeless and not own and used + w.weight > capacity then return end
dequeue(id)
local lease = id == self and w.ttl or math.min(w.ttl, w.claim)
if not hopeless and (id == self or w.channel == '' or announce(w, own, lease)) then
if own then join(own, id, lease, w.signalled) else grant(w, lease) end
else
if w.signalled then owed[#owed + 1] = w.signalled end
settle()
end
end
end
more = queue_length() > 0
end
if not known then return { 'absent', now, 0 } end
drop_expired()
local held = lease_of(id)
if held then extend(held, now + ttl * 1000) end
serve('')
flush()
if not held then return { 'absent', now, 0 } end
return { 'renewed', now, lease_of(id).expires - now }
` as string,
  },
  resize: {
    name: 'resize',
    sha: 'feb3487be4b47c0dd1c3d0d140b3ee7617cc747e',
    keys: ['resource', 'queue', 'expiries'],
    args: [
      'id',
      'weight',
      'own_fence',
      'retention',
    ],
    source: `local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]
local weight = tonumber(ARGV[2])
local own_fence = tonumber(ARGV[3])
local retention = tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local seen = redis.call('HGET', resource, 's')
local CHUNK = 1000
local known = seen and true
local loaded, writes = {}, {}
local capacity, fence, last_ticket, used, latest, fair_waiting = 0, 0, 0, 0, 0, 0
local sole -- the only lease of a mutex
local many = false
if known then
local h = {}
capacity, fence, last_ticket, used, latest, fair_waiting, h.id, h.expires, h.weight, h.fence,
h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta, h.signalled, h.seq, h.woken,
h.left = cmsgpack.unpack(seen)
sole = h.id and h
if h.signalled == '' then h.signalled = nil end
many = capacity ~= 1 or (used > 0 and not sole)
local names = { 'h:' .. id, 'w:' .. id, 'r:' .. id, 'l' }
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
end
local function read(field)
local value = writes[field]
if value == nil then value = loaded[field] end
if value == nil then
value = redis.call('HGET', resource, field)
loaded[field] = value
end
return value
end
local function forget_at(retention)
return math.floor((math.max(now, latest) + retention * 1000) / 1000)
end
local guarded = false
local function guard()
if known and not guarded then redis.call('PEXPIREAT', resource, forget_at(retention)) end
guarded = true
end
local function with_signals(h)
if not h.signalled and not h.seq then return h.meta end
return h.meta, h.signalled or '', h.seq or 0, h.woken or 0, h.left or 0
end
local function pack_summary()
if not sole then
return cmsgpack.pack(capacity, fence, last_ticket, used, latest, fair_waiting)
end
return cmsgpack.pack(
capacity, fence, last_ticket, used, latest, fair_waiting, sole.id, sole.expires, sole.weight,
sole.fence, sole.passes, sole.ttl, sole.since, sole.owner, sole.holds, sole.channel,
with_signals(sole))
end
local function in_chunks(command, list)
for from = 1, #list, CHUNK do
redis.call(command, resource, unpack(list, from, math.min(from + CHUNK - 1, #list)))
end
end
local collect
local function flush()
collect()
local at = forget_at(retention)
if known then redis.call('PEXPIREAT', resource, at) end
writes.s = pack_summary()
local set, deleted = {}, {}
for field, value in pairs(writes) do
if value then
set[#set + 1] = field
set[#set + 1] = value
elseif loaded[field] then
deleted[#deleted + 1] = field
end
end
in_chunks('HDEL', deleted)
in_chunks('HSET', set)
if not known then redis.call('PEXPIREAT', resource, at) end
if last_ticket > 0 then redis.call('PEXPIREAT', queue, at) end
if many then redis.call('PEXPIREAT', expiries, at) end
end
local entries, chains, changed = {}, {}, {}
local function chain(name)
local c = chains[name]
if not c then
c = { first = '', last = '', count = 0 }
local packed = known and (name == 'l' or chain('l').count > 0) and read(name)
if packed then c.first, c.last, c.count = cmsgpack.unpack(packed) end
chains[name] = c
end
return c
end
local function parked_count()
return chain('l').count
end
local function read_parked(id)
if entries[id] == nil then
local packed = parked_count() > 0 and read('c:' .. id)
local e = packed and { id = id }
if e then
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer = cmsgpack.unpack(packed)
end
entries[id] = e
end
return entries[id] or nil
end
local function change(id)
changed[id] = true
return read_parked(id)
end
local function link(name, e, back, forth)
local c = chain(name)
e[back], e[forth] = c.last, ''
if c.last ~= '' then change(c.last)[forth] = e.id else c.first = e.id end
c.last, c.count, c.changed = e.id, c.count + 1, true
end
local function unlink(name, e, back, forth)
local c = chain(name)
if e[back] ~= '' then change(e[back])[forth] = e[forth] else c.first = e[forth] end
if e[forth] ~= '' then change(e[forth])[back] = e[back] else c.last = e[back] end
c.count, c.changed = c.count - 1, true
end
local function add_parked(e)
link('l:' .. e.condition, e, 'ahead', 'behind')
link('l', e, 'older', 'newer')
entries[e.id], changed[e.id] = e, true
end
local function remove_parked(id)
local e = read_parked(id)
if not e then return nil end
unlink('l:' .. e.condition, e, 'ahead', 'behind')
unlink('l', e, 'older', 'newer')
entries[id], changed[id] = false, true
return e
end
local function hear(id)
local e = read_parked(id)
if not e or e.till - now >= retention * 500 then return end
unlink('l', e, 'older', 'newer')
link('l', e, 'older', 'newer')
e.till, changed[id] = now + retention * 1000, true
end
local function drop_silent(limit)
for _ = 1, limit do
local id = chain('l').first
if id == '' or read_parked(id).till > now then return end
remove_parked(id)
end
end
collect = function()
for id in pairs(changed) do
local e = entries[id]
writes['c:' .. id] = e and cmsgpack.pack(
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer)
end
for name, c in pairs(chains) do
if c.changed then
writes[name] = c.count > 0 and cmsgpack.pack(c.first, c.last, c.count)
end
end
end
local EXPIRE_LIMIT = 1000
local owed = {}
local function read_holder(id)
if not many then return sole and sole.id == id and sole or nil end
local packed = read('h:' .. id)
if not packed then return nil end
local h = { id = id }
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta,
h.signalled, h.seq, h.woken, h.left = cmsgpack.unpack(packed)
if h.signalled == '' then h.signalled = nil end
return h
end
local function save_holder(h)
if not many then
sole = h
return
end
writes['h:' .. h.id] = cmsgpack.pack(
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel,
with_signals(h))
end
local function hold_count(h)
if h.owner == '' then return 1 end
local _, spaces = string.gsub(h.holds, '[^ ]+', '')
return spaces
end
local function lease_of(id)
local root = read('r:' .. id)
local h = read_holder(root or id)
if not h or h.expires <= now or (h.owner ~= '' and not root) then return nil end
return h
end
local function lease_of_owner(owner)
local root = owner ~= '' and read('p:' .. owner)
local h = root and read_holder(root)
if not h or h.expires <= now then return nil end
return h
end
local more = false
local function next_expiry()
local first = sole and sole.expires
if more then return 0 end
if many then first = tonumber(redis.call('ZRANGE', expiries, 0, 0, 'WITHSCORES')[2]) end
return first and math.max(0, first - now) or 0
end
local function extend(h, expires)
h.expires = math.max(h.expires, expires)
save_holder(h)
if many then
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
latest = math.max(latest, h.expires)
end
local function add(h)
used = used + h.weight
if h.owner ~= '' then
writes['p:' .. h.owner], writes['r:' .. h.id], h.holds = h.id, h.id, ' ' .. h.id .. ' '
end
extend(h, h.expires)
return h
end
local function remove(h, ordered)
if h.signalled then owed[#owed + 1] = h.signalled end
if h.owner ~= '' then
if read('p:' .. h.owner) == h.id then writes['p:' .. h.owner] = false end
for id in string.gmatch(h.holds, '[^ ]+') do
if read('r:' .. id) == h.id then writes['r:' .. id] = false end
end
end
if not many then
sole = nil
else
writes['h:' .. h.id] = false
if not ordered then
guard()
redis.call('ZREM', expiries, h.id)
end
end
used = used - h.weight
if used == 0 then
latest, many = 0, capacity ~= 1
end
end
local function set_capacity(wanted)
if wanted > 1 and sole then
local h = sole
sole, many = nil, true
h.passes = 0
save_holder(h)
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
capacity = wanted
if used == 0 then many = capacity ~= 1 end
end
local function resize(h, wanted)
if wanted > h.weight then
fence = math.max(fence + 1, now)
h.fence = fence
end
used, h.weight = used + wanted - h.weight, wanted
save_holder(h)
end
local function drop_expired()
if not known then return end
drop_silent(EXPIRE_LIMIT)
if not many then
if sole and sole.expires <= now then remove(sole) end
return
end
local till = string.format('%.0f', now)
local due = redis.call('ZRANGE', expiries, '-inf', till, 'BYSCORE', 'LIMIT', 0, EXPIRE_LIMIT)
if #due == 0 then return end
local names = {}
for index, id in ipairs(due) do names[index] = 'h:' .. id end
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
guard()
redis.call('ZREM', expiries, unpack(due))
for _, id in ipairs(due) do
local h = read_holder(id)
if h then remove(h, true) end
end
end
local function drop_stale(id)
local h = read_holder(id)
if h and h.expires <= now then remove(h) end
end
local function terms(w)
local passes = w.passes
if w.fair == 1 or fair_waiting > 0 or capacity > 1 then passes = 0 end
return math.max(fence + 1, now), passes
end
local function grant(w, lease)
local own, passes = terms(w)
fence = own + passes
return add({
id = w.id, owner = w.owner, weight = w.weight, channel = w.channel, meta = w.meta, ttl = w.ttl,
fence = own, passes = passes, since = now, holds = '', expires = now + lease * 1000,
signalled = w.signalled,
})
end
local function join(h, id, lease, signalled)
h.signalled = h.signalled or signalled
if not string.find(h.holds, ' ' .. id .. ' ', 1, true) then
writes['r:' .. id] = h.id
h.holds = h.holds .. id .. ' '
end
extend(h, now + lease * 1000)
return h
end
local function leave(h, id)
if h.owner ~= '' then
local from, to = string.find(h.holds, ' ' .. id .. ' ', 1, true)
h.holds = string.sub(h.holds, 1, from) .. string.sub(h.holds, to + 1)
writes['r:' .. id] = false
save_holder(h)
if h.holds ~= ' ' then return false end
end
h.signalled = nil
remove(h)
return true
end
local function granted(h)
return { 'granted', now, h.fence, h.expires - now, h.passes, hold_count(h) }
end
local SERVE_LIMIT = 1000
local SIGNAL_LIMIT = 1000
local function read_waiter(id)
local packed = read('w:' .. id)
if not packed then return nil end
local w = { id = id }
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta, w.signalled =
cmsgpack.unpack(packed)
return w
end
local function save_waiter(w)
local signal = { w.signalled }
writes['w:' .. w.id] = cmsgpack.pack(
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta,
unpack(signal))
end
local function queue_length()
return last_ticket > 0 and redis.call('ZCARD', queue) or 0
end
local function enqueue(w)
if w.ticket == 0 then w.ticket = math.max(last_ticket + 1, now) end
last_ticket = math.max(last_ticket, w.ticket)
guard()
redis.call('ZADD', queue, w.ticket, w.id)
save_waiter(w)
fair_waiting = fair_waiting + w.fair
end
local function dequeue(id)
local w = read_waiter(id)
if not w then return nil end
guard()
redis.call('ZREM', queue, id)
writes['w:' .. id] = false
fair_waiting = fair_waiting - w.fair
return w
end
local dead = {}
local function push(channel, message)
if dead[channel] then return false end
guard()
redis.set_repl(redis.REPL_NONE)
local receivers = redis.pcall('PUBLISH', channel, message)
redis.set_repl(redis.REPL_ALL)
dead[channel] = receivers == 0
return receivers ~= 0
end
local function wake(condition, count)
if parked_count() == 0 then return 0 end
local woken = 0
for _ = 1, SIGNAL_LIMIT do
local id = chain('l:' .. condition).first
if id == '' or (count > 0 and woken >= count) then break end
local e = remove_parked(id)
if e.channel == '' or push(e.channel, 's ' .. id) then
e.ticket, e.signalled = 0, condition
enqueue(e)
woken = woken + 1
end
end
return woken
end
local function settle()
local list = owed
owed = {}
for _, condition in ipairs(list) do wake(condition, 1) end
end
local function announce(w, own, lease)
local h_fence, passes, left, holds = nil, nil, lease * 1000, 1
if own then
h_fence, passes, left = own.fence, own.passes, math.max(own.expires - now, left)
holds = hold_count(own) + 1
else
h_fence, passes = terms(w)
end
local message = string.format(
'g %s %.0f %.0f %.0f %.0f %.0f', w.id, h_fence, now, left, passes, holds)
return push(w.channel, message)
end
local function conflicts(own, weight)
return own and own.weight < weight
end
local function serve(self)
settle()
if last_ticket == 0 then return end
for _ = 1, SERVE_LIMIT do
local id = redis.call('ZRANGE', queue, 0, 0)[1]
if not id then return end
local w = read_waiter(id)
if not w then
guard()
redis.call('ZREM', queue, id)
else
local own = lease_of_owner(w.owner)
local hopeless = conflicts(own, w.weight) or (not own and w.weight > capacity)
if not hopeless and not own and used + w.weight > capacity then return end
dequeue(id)
local lease = id == self and w.ttl or math.min(w.ttl, w.claim)
if not hopeless and (id == self or w.channel == '' or announce(w, own, lease)) then
if own then join(own, id, lease, w.signalled) else grant(w, lease) end
else
if w.signalled then owed[#owed + 1] = w.signalled end
settle()
end
end
end
more = queue_length() > 0
end
local function weigh(h)
if weight == h.weight then return 'resized' end
if own_fence ~= h.fence or hold_count(h) > 1 then return 'refused' end
if weight > h.weight and used - h.weight + weight > capacity then return 'refused' end
resize(h, weight)
return 'resized'
end
if not known then return { 'absent', now, 0, 0 } end
drop_expired()
settle()
local held = lease_of(id)
local status = held and weigh(held) or 'absent'
serve('')
flush()
if not held then return { status, now, 0, 0 } end
return { status, now, held.fence, held.expires - now }
` as string,
  },
  signal: {
    name: 'signal',
    sha: '147633a93286f58e938c0f8f5a9fccaf32a31f3a',
    keys: ['resource', 'queue', 'expiries'],
    args: [
      'id',
      'condition',
      'count',
      'seq',
      'retention',
    ],
    source: `local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]
local condition = ARGV[2]
local count = tonumber(ARGV[3])
local seq = tonumber(ARGV[4])
local retention = tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local seen = redis.call('HGET', resource, 's')
local CHUNK = 1000
local known = seen and true
local loaded, writes = {}, {}
local capacity, fence, last_ticket, used, latest, fair_waiting = 0, 0, 0, 0, 0, 0
local sole -- the only lease of a mutex
local many = false
if known then
local h = {}
capacity, fence, last_ticket, used, latest, fair_waiting, h.id, h.expires, h.weight, h.fence,
h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta, h.signalled, h.seq, h.woken,
h.left = cmsgpack.unpack(seen)
sole = h.id and h
if h.signalled == '' then h.signalled = nil end
many = capacity ~= 1 or (used > 0 and not sole)
local names = { 'h:' .. id, 'w:' .. id, 'r:' .. id, 'l' }
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
end
local function read(field)
local value = writes[field]
if value == nil then value = loaded[field] end
if value == nil then
value = redis.call('HGET', resource, field)
loaded[field] = value
end
return value
end
local function forget_at(retention)
return math.floor((math.max(now, latest) + retention * 1000) / 1000)
end
local guarded = false
local function guard()
if known and not guarded then redis.call('PEXPIREAT', resource, forget_at(retention)) end
guarded = true
end
local function with_signals(h)
if not h.signalled and not h.seq then return h.meta end
return h.meta, h.signalled or '', h.seq or 0, h.woken or 0, h.left or 0
end
local function pack_summary()
if not sole then
return cmsgpack.pack(capacity, fence, last_ticket, used, latest, fair_waiting)
end
return cmsgpack.pack(
capacity, fence, last_ticket, used, latest, fair_waiting, sole.id, sole.expires, sole.weight,
sole.fence, sole.passes, sole.ttl, sole.since, sole.owner, sole.holds, sole.channel,
with_signals(sole))
end
local function in_chunks(command, list)
for from = 1, #list, CHUNK do
redis.call(command, resource, unpack(list, from, math.min(from + CHUNK - 1, #list)))
end
end
local collect
local function flush()
collect()
local at = forget_at(retention)
if known then redis.call('PEXPIREAT', resource, at) end
writes.s = pack_summary()
local set, deleted = {}, {}
for field, value in pairs(writes) do
if value then
set[#set + 1] = field
set[#set + 1] = value
elseif loaded[field] then
deleted[#deleted + 1] = field
end
end
in_chunks('HDEL', deleted)
in_chunks('HSET', set)
if not known then redis.call('PEXPIREAT', resource, at) end
if last_ticket > 0 then redis.call('PEXPIREAT', queue, at) end
if many then redis.call('PEXPIREAT', expiries, at) end
end
local entries, chains, changed = {}, {}, {}
local function chain(name)
local c = chains[name]
if not c then
c = { first = '', last = '', count = 0 }
local packed = known and (name == 'l' or chain('l').count > 0) and read(name)
if packed then c.first, c.last, c.count = cmsgpack.unpack(packed) end
chains[name] = c
end
return c
end
local function parked_count()
return chain('l').count
end
local function read_parked(id)
if entries[id] == nil then
local packed = parked_count() > 0 and read('c:' .. id)
local e = packed and { id = id }
if e then
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer = cmsgpack.unpack(packed)
end
entries[id] = e
end
return entries[id] or nil
end
local function change(id)
changed[id] = true
return read_parked(id)
end
local function link(name, e, back, forth)
local c = chain(name)
e[back], e[forth] = c.last, ''
if c.last ~= '' then change(c.last)[forth] = e.id else c.first = e.id end
c.last, c.count, c.changed = e.id, c.count + 1, true
end
local function unlink(name, e, back, forth)
local c = chain(name)
if e[back] ~= '' then change(e[back])[forth] = e[forth] else c.first = e[forth] end
if e[forth] ~= '' then change(e[forth])[back] = e[back] else c.last = e[back] end
c.count, c.changed = c.count - 1, true
end
local function add_parked(e)
link('l:' .. e.condition, e, 'ahead', 'behind')
link('l', e, 'older', 'newer')
entries[e.id], changed[e.id] = e, true
end
local function remove_parked(id)
local e = read_parked(id)
if not e then return nil end
unlink('l:' .. e.condition, e, 'ahead', 'behind')
unlink('l', e, 'older', 'newer')
entries[id], changed[id] = false, true
return e
end
local function hear(id)
local e = read_parked(id)
if not e or e.till - now >= retention * 500 then return end
unlink('l', e, 'older', 'newer')
link('l', e, 'older', 'newer')
e.till, changed[id] = now + retention * 1000, true
end
local function drop_silent(limit)
for _ = 1, limit do
local id = chain('l').first
if id == '' or read_parked(id).till > now then return end
remove_parked(id)
end
end
collect = function()
for id in pairs(changed) do
local e = entries[id]
writes['c:' .. id] = e and cmsgpack.pack(
e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.passes, e.fair, e.owner, e.channel,
e.meta, e.ahead, e.behind, e.older, e.newer)
end
for name, c in pairs(chains) do
if c.changed then
writes[name] = c.count > 0 and cmsgpack.pack(c.first, c.last, c.count)
end
end
end
local EXPIRE_LIMIT = 1000
local owed = {}
local function read_holder(id)
if not many then return sole and sole.id == id and sole or nil end
local packed = read('h:' .. id)
if not packed then return nil end
local h = { id = id }
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel, h.meta,
h.signalled, h.seq, h.woken, h.left = cmsgpack.unpack(packed)
if h.signalled == '' then h.signalled = nil end
return h
end
local function save_holder(h)
if not many then
sole = h
return
end
writes['h:' .. h.id] = cmsgpack.pack(
h.expires, h.weight, h.fence, h.passes, h.ttl, h.since, h.owner, h.holds, h.channel,
with_signals(h))
end
local function hold_count(h)
if h.owner == '' then return 1 end
local _, spaces = string.gsub(h.holds, '[^ ]+', '')
return spaces
end
local function lease_of(id)
local root = read('r:' .. id)
local h = read_holder(root or id)
if not h or h.expires <= now or (h.owner ~= '' and not root) then return nil end
return h
end
local function lease_of_owner(owner)
local root = owner ~= '' and read('p:' .. owner)
local h = root and read_holder(root)
if not h or h.expires <= now then return nil end
return h
end
local more = false
local function next_expiry()
local first = sole and sole.expires
if more then return 0 end
if many then first = tonumber(redis.call('ZRANGE', expiries, 0, 0, 'WITHSCORES')[2]) end
return first and math.max(0, first - now) or 0
end
local function extend(h, expires)
h.expires = math.max(h.expires, expires)
save_holder(h)
if many then
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
latest = math.max(latest, h.expires)
end
local function add(h)
used = used + h.weight
if h.owner ~= '' then
writes['p:' .. h.owner], writes['r:' .. h.id], h.holds = h.id, h.id, ' ' .. h.id .. ' '
end
extend(h, h.expires)
return h
end
local function remove(h, ordered)
if h.signalled then owed[#owed + 1] = h.signalled end
if h.owner ~= '' then
if read('p:' .. h.owner) == h.id then writes['p:' .. h.owner] = false end
for id in string.gmatch(h.holds, '[^ ]+') do
if read('r:' .. id) == h.id then writes['r:' .. id] = false end
end
end
if not many then
sole = nil
else
writes['h:' .. h.id] = false
if not ordered then
guard()
redis.call('ZREM', expiries, h.id)
end
end
used = used - h.weight
if used == 0 then
latest, many = 0, capacity ~= 1
end
end
local function set_capacity(wanted)
if wanted > 1 and sole then
local h = sole
sole, many = nil, true
h.passes = 0
save_holder(h)
guard()
redis.call('ZADD', expiries, h.expires, h.id)
end
capacity = wanted
if used == 0 then many = capacity ~= 1 end
end
local function resize(h, wanted)
if wanted > h.weight then
fence = math.max(fence + 1, now)
h.fence = fence
end
used, h.weight = used + wanted - h.weight, wanted
save_holder(h)
end
local function drop_expired()
if not known then return end
drop_silent(EXPIRE_LIMIT)
if not many then
if sole and sole.expires <= now then remove(sole) end
return
end
local till = string.format('%.0f', now)
local due = redis.call('ZRANGE', expiries, '-inf', till, 'BYSCORE', 'LIMIT', 0, EXPIRE_LIMIT)
if #due == 0 then return end
local names = {}
for index, id in ipairs(due) do names[index] = 'h:' .. id end
for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
loaded[names[index]] = value
end
guard()
redis.call('ZREM', expiries, unpack(due))
for _, id in ipairs(due) do
local h = read_holder(id)
if h then remove(h, true) end
end
end
local function drop_stale(id)
local h = read_holder(id)
if h and h.expires <= now then remove(h) end
end
local function terms(w)
local passes = w.passes
if w.fair == 1 or fair_waiting > 0 or capacity > 1 then passes = 0 end
return math.max(fence + 1, now), passes
end
local function grant(w, lease)
local own, passes = terms(w)
fence = own + passes
return add({
id = w.id, owner = w.owner, weight = w.weight, channel = w.channel, meta = w.meta, ttl = w.ttl,
fence = own, passes = passes, since = now, holds = '', expires = now + lease * 1000,
signalled = w.signalled,
})
end
local function join(h, id, lease, signalled)
h.signalled = h.signalled or signalled
if not string.find(h.holds, ' ' .. id .. ' ', 1, true) then
writes['r:' .. id] = h.id
h.holds = h.holds .. id .. ' '
end
extend(h, now + lease * 1000)
return h
end
local function leave(h, id)
if h.owner ~= '' then
local from, to = string.find(h.holds, ' ' .. id .. ' ', 1, true)
h.holds = string.sub(h.holds, 1, from) .. string.sub(h.holds, to + 1)
writes['r:' .. id] = false
save_holder(h)
if h.holds ~= ' ' then return false end
end
h.signalled = nil
remove(h)
return true
end
local function granted(h)
return { 'granted', now, h.fence, h.expires - now, h.passes, hold_count(h) }
end
local SERVE_LIMIT = 1000
local SIGNAL_LIMIT = 1000
local function read_waiter(id)
local packed = read('w:' .. id)
if not packed then return nil end
local w = { id = id }
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta, w.signalled =
cmsgpack.unpack(packed)
return w
end
local function save_waiter(w)
local signal = { w.signalled }
writes['w:' .. w.id] = cmsgpack.pack(
w.ticket, w.weight, w.ttl, w.claim, w.passes, w.fair, w.owner, w.channel, w.meta,
unpack(signal))
end
local function queue_length()
return last_ticket > 0 and redis.call('ZCARD', queue) or 0
end
local function enqueue(w)
if w.ticket == 0 then w.ticket = math.max(last_ticket + 1, now) end
last_ticket = math.max(last_ticket, w.ticket)
guard()
redis.call('ZADD', queue, w.ticket, w.id)
save_waiter(w)
fair_waiting = fair_waiting + w.fair
end
local function dequeue(id)
local w = read_waiter(id)
if not w then return nil end
guard()
redis.call('ZREM', queue, id)
writes['w:' .. id] = false
fair_waiting = fair_waiting - w.fair
return w
end
local dead = {}
local function push(channel, message)
if dead[channel] then return false end
guard()
redis.set_repl(redis.REPL_NONE)
local receivers = redis.pcall('PUBLISH', channel, message)
redis.set_repl(redis.REPL_ALL)
dead[channel] = receivers == 0
return receivers ~= 0
end
local function wake(condition, count)
if parked_count() == 0 then return 0 end
local woken = 0
for _ = 1, SIGNAL_LIMIT do
local id = chain('l:' .. condition).first
if id == '' or (count > 0 and woken >= count) then break end
local e = remove_parked(id)
if e.channel == '' or push(e.channel, 's ' .. id) then
e.ticket, e.signalled = 0, condition
enqueue(e)
woken = woken + 1
end
end
return woken
end
local function settle()
local list = owed
owed = {}
for _, condition in ipairs(list) do wake(condition, 1) end
end
local function announce(w, own, lease)
local h_fence, passes, left, holds = nil, nil, lease * 1000, 1
if own then
h_fence, passes, left = own.fence, own.passes, math.max(own.expires - now, left)
holds = hold_count(own) + 1
else
h_fence, passes = terms(w)
end
local message = string.format(
'g %s %.0f %.0f %.0f %.0f %.0f', w.id, h_fence, now, left, passes, holds)
return push(w.channel, message)
end
local function conflicts(own, weight)
return own and own.weight < weight
end
local function serve(self)
settle()
if last_ticket == 0 then return end
for _ = 1, SERVE_LIMIT do
local id = redis.call('ZRANGE', queue, 0, 0)[1]
if not id then return end
local w = read_waiter(id)
if not w then
guard()
redis.call('ZREM', queue, id)
else
local own = lease_of_owner(w.owner)
local hopeless = conflicts(own, w.weight) or (not own and w.weight > capacity)
if not hopeless and not own and used + w.weight > capacity then return end
dequeue(id)
local lease = id == self and w.ttl or math.min(w.ttl, w.claim)
if not hopeless and (id == self or w.channel == '' or announce(w, own, lease)) then
if own then join(own, id, lease, w.signalled) else grant(w, lease) end
else
if w.signalled then owed[#owed + 1] = w.signalled end
settle()
end
end
end
more = queue_length() > 0
end
if not known then return { 'absent', now, 0, 0 } end
drop_expired()
settle()
local h = capacity == 1 and lease_of(id)
if h and seq > (h.seq or 0) then
h.seq, h.woken = seq, wake(condition, count)
h.left = chain('l:' .. condition).count
save_holder(h)
end
serve('')
flush()
if not h then return { 'absent', now, 0, 0 } end
if h.seq ~= seq then return { 'signalled', now, 0, 0 } end
return { 'signalled', now, h.woken, h.left }
` as string,
  },
  turn: {
    name: 'turn',
    sha: 'b17d64df1a1f623bf71631823454d5ec2bffdfd7',
    keys: ['gate', 'arrivals', 'past', 'expiries'],
    args: [
      'name',
      'kind',
      'count',
      'generation',
      'ttl',
      'retention',
      'reason',
    ],
    source: `local gate, arrivals, past, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local name = ARGV[1]
local kind = ARGV[2]
local count = tonumber(ARGV[3])
local generation = tonumber(ARGV[4])
local ttl = tonumber(ARGV[5])
local retention = tonumber(ARGV[6])
local reason = ARGV[7]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local CHANNEL_LIMIT, BROKEN_LIMIT, CHUNK = 10000, 64, 1000
local seen = redis.call('HGET', gate, 's')
local g
if seen then
g = { broken = {} }
local list = { cmsgpack.unpack(seen) }
g.kind, g.count, g.generation, g.since, g.left, g.ends, g.retention, g.past = unpack(list, 1, 8)
for at = 9, #list do g.broken[at - 8] = list[at] end
end
local function forget_at()
return math.floor((g.ends + g.retention * 1000) / 1000)
end
if g then redis.call('PEXPIREAT', gate, forget_at()) end
local function flush()
local at = forget_at()
redis.call('HSET', gate, 's', cmsgpack.pack(
g.kind, g.count, g.generation, g.since, g.left, g.ends, g.retention, g.past, unpack(g.broken)))
for _, name in ipairs({ gate, arrivals, past, expiries }) do
redis.call('PEXPIREAT', name, at)
end
end
local function reason_of(generation)
for at = 1, #g.broken, 2 do
if g.broken[at] == generation then return g.broken[at + 1] end
end
return ''
end
local function fate(generation)
if generation > g.generation or generation < g.since then return 'unknown' end
if reason_of(generation) ~= '' then return 'broken' end
return (generation < g.generation or g.left == 0) and 'open' or 'closed'
end
local function first_expiry()
return tonumber(redis.call('ZRANGE', expiries, 0, 0, 'WITHSCORES')[2])
end
local function next_due()
if g.kind == 'latch' then
return fate(g.generation) == 'closed' and math.max(0, g.ends - now) or 0
end
local first = first_expiry()
return first and math.max(0, first - now) or 0
end
local function tell(generation)
local channels, fields = {}, {}
for _, field in ipairs(redis.call('HKEYS', gate)) do
if field ~= 's' then
fields[#fields + 1] = field
channels[#channels + 1] = string.sub(field, 3)
end
end
table.sort(channels)
local letter = fate(generation) == 'broken' and 'b' or 'o'
local message = string.format(
'%s %.0f %.0f %s %s', letter, generation, g.generation, reason_of(generation), name)
redis.set_repl(redis.REPL_NONE)
for _, channel in ipairs(channels) do redis.pcall('PUBLISH', channel, message) end
redis.set_repl(redis.REPL_ALL)
for from = 1, #fields, CHUNK do
redis.call('HDEL', gate, unpack(fields, from, math.min(from + CHUNK - 1, #fields)))
end
end
local function remember(reason)
g.broken[#g.broken + 1] = g.generation
g.broken[#g.broken + 1] = reason
if #g.broken <= 2 * BROKEN_LIMIT then return end
g.since = table.remove(g.broken, 1) + 1
table.remove(g.broken, 1)
end
local function next_generation(wanted)
local ended = g.generation
if redis.call('EXISTS', arrivals) == 1 then
redis.call('RENAME', arrivals, past)
else
redis.call('DEL', past)
end
redis.call('DEL', expiries)
g.past = ended
g.generation = math.max(ended + 1, now)
g.count, g.left, g.ends = wanted, wanted, now
tell(ended)
end
local function turn(why, wanted)
if fate(g.generation) == 'closed' then remember(why) end
next_generation(wanted)
end
local function settle()
if g.kind == 'latch' then
if fate(g.generation) ~= 'closed' or g.ends > now then return end
remember('expired')
return tell(g.generation)
end
local first = first_expiry()
if first and first <= now then turn('expired', g.count) end
g.ends = math.max(g.ends, now)
end
local function extend(id, expires)
local later = math.max(tonumber(redis.call('ZSCORE', expiries, id) or 0), expires)
redis.call('ZADD', expiries, string.format('%.0f', later), id)
g.ends = math.max(g.ends, later)
end
local function listen(channel)
if channel ~= '' and redis.call('HLEN', gate) <= CHANNEL_LIMIT then
redis.call('HSET', gate, 'c:' .. channel, '')
end
end
local function suits(wanted)
return g.count == wanted or (g.kind == 'barrier' and redis.call('HLEN', arrivals) == 0)
end
local function other()
return { 'other', now, g.kind, g.count }
end
local function status(generation, id)
local sure, rank = generation == g.generation or generation == g.past, -1
if sure and id ~= '' then
rank = tonumber(redis.call('HGET', generation == g.generation and arrivals or past, id) or -1)
end
return {
'gate', now, generation, fate(generation), reason_of(generation), rank, sure and 1 or 0,
g.generation, g.left, next_due(),
}
end
local function none(generation)
return { 'gate', now, generation, 'unknown', '', -1, 0, 0, 0, 0 }
end
if not g then return none(generation) end
settle()
if g.kind ~= kind then
flush()
return other()
end
if generation == g.generation then
turn(reason, count)
g.retention = retention
if kind == 'latch' then g.ends = now + ttl * 1000 end
end
flush()
return status(generation, '')
` as string,
  },
  watch: {
    name: 'watch',
    sha: '7e6129728e07b4b1b6c235827172511c2684cdac',
    keys: ['gate', 'arrivals', 'past', 'expiries'],
    args: [
      'name',
      'kind',
      'count',
      'generation',
      'ttl',
      'retention',
      'channel',
      'ids...',
    ],
    source: `local gate, arrivals, past, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local name = ARGV[1]
local kind = ARGV[2]
local count = tonumber(ARGV[3])
local generation = tonumber(ARGV[4])
local ttl = tonumber(ARGV[5])
local retention = tonumber(ARGV[6])
local channel = ARGV[7]
local ids = { unpack(ARGV, 8) }
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local CHANNEL_LIMIT, BROKEN_LIMIT, CHUNK = 10000, 64, 1000
local seen = redis.call('HGET', gate, 's')
local g
if seen then
g = { broken = {} }
local list = { cmsgpack.unpack(seen) }
g.kind, g.count, g.generation, g.since, g.left, g.ends, g.retention, g.past = unpack(list, 1, 8)
for at = 9, #list do g.broken[at - 8] = list[at] end
end
local function forget_at()
return math.floor((g.ends + g.retention * 1000) / 1000)
end
if g then redis.call('PEXPIREAT', gate, forget_at()) end
local function flush()
local at = forget_at()
redis.call('HSET', gate, 's', cmsgpack.pack(
g.kind, g.count, g.generation, g.since, g.left, g.ends, g.retention, g.past, unpack(g.broken)))
for _, name in ipairs({ gate, arrivals, past, expiries }) do
redis.call('PEXPIREAT', name, at)
end
end
local function reason_of(generation)
for at = 1, #g.broken, 2 do
if g.broken[at] == generation then return g.broken[at + 1] end
end
return ''
end
local function fate(generation)
if generation > g.generation or generation < g.since then return 'unknown' end
if reason_of(generation) ~= '' then return 'broken' end
return (generation < g.generation or g.left == 0) and 'open' or 'closed'
end
local function first_expiry()
return tonumber(redis.call('ZRANGE', expiries, 0, 0, 'WITHSCORES')[2])
end
local function next_due()
if g.kind == 'latch' then
return fate(g.generation) == 'closed' and math.max(0, g.ends - now) or 0
end
local first = first_expiry()
return first and math.max(0, first - now) or 0
end
local function tell(generation)
local channels, fields = {}, {}
for _, field in ipairs(redis.call('HKEYS', gate)) do
if field ~= 's' then
fields[#fields + 1] = field
channels[#channels + 1] = string.sub(field, 3)
end
end
table.sort(channels)
local letter = fate(generation) == 'broken' and 'b' or 'o'
local message = string.format(
'%s %.0f %.0f %s %s', letter, generation, g.generation, reason_of(generation), name)
redis.set_repl(redis.REPL_NONE)
for _, channel in ipairs(channels) do redis.pcall('PUBLISH', channel, message) end
redis.set_repl(redis.REPL_ALL)
for from = 1, #fields, CHUNK do
redis.call('HDEL', gate, unpack(fields, from, math.min(from + CHUNK - 1, #fields)))
end
end
local function remember(reason)
g.broken[#g.broken + 1] = g.generation
g.broken[#g.broken + 1] = reason
if #g.broken <= 2 * BROKEN_LIMIT then return end
g.since = table.remove(g.broken, 1) + 1
table.remove(g.broken, 1)
end
local function next_generation(wanted)
local ended = g.generation
if redis.call('EXISTS', arrivals) == 1 then
redis.call('RENAME', arrivals, past)
else
redis.call('DEL', past)
end
redis.call('DEL', expiries)
g.past = ended
g.generation = math.max(ended + 1, now)
g.count, g.left, g.ends = wanted, wanted, now
tell(ended)
end
local function turn(why, wanted)
if fate(g.generation) == 'closed' then remember(why) end
next_generation(wanted)
end
local function settle()
if g.kind == 'latch' then
if fate(g.generation) ~= 'closed' or g.ends > now then return end
remember('expired')
return tell(g.generation)
end
local first = first_expiry()
if first and first <= now then turn('expired', g.count) end
g.ends = math.max(g.ends, now)
end
local function extend(id, expires)
local later = math.max(tonumber(redis.call('ZSCORE', expiries, id) or 0), expires)
redis.call('ZADD', expiries, string.format('%.0f', later), id)
g.ends = math.max(g.ends, later)
end
local function listen(channel)
if channel ~= '' and redis.call('HLEN', gate) <= CHANNEL_LIMIT then
redis.call('HSET', gate, 'c:' .. channel, '')
end
end
local function suits(wanted)
return g.count == wanted or (g.kind == 'barrier' and redis.call('HLEN', arrivals) == 0)
end
local function other()
return { 'other', now, g.kind, g.count }
end
local function status(generation, id)
local sure, rank = generation == g.generation or generation == g.past, -1
if sure and id ~= '' then
rank = tonumber(redis.call('HGET', generation == g.generation and arrivals or past, id) or -1)
end
return {
'gate', now, generation, fate(generation), reason_of(generation), rank, sure and 1 or 0,
g.generation, g.left, next_due(),
}
end
local function none(generation)
return { 'gate', now, generation, 'unknown', '', -1, 0, 0, 0, 0 }
end
if not g then
if count == 0 then return none(generation) end
g = {
kind = kind, count = count, generation = now, since = now, left = count, ends = now,
retention = retention, past = 0, broken = {},
}
if kind == 'latch' then g.ends = now + ttl * 1000 end
end
settle()
if generation == 0 then generation = g.generation end
if g.kind ~= kind or (generation == g.generation and count > 0 and not suits(count)) then
flush()
return other()
end
if fate(generation) == 'closed' then
for _, id in ipairs(ids) do
if redis.call('ZSCORE', expiries, id) then extend(id, now + ttl * 1000) end
end
listen(channel)
end
flush()
return status(generation, '')
` as string,
  },
} as const;
