--- @include "lib/peek.lua"
-- A server that may not write (a replica, or one with too few replicas) must not answer for the
-- master, also without anything to write. It refuses this; no record has such a field.
if not seen then redis.call('HDEL', resource, '') end
