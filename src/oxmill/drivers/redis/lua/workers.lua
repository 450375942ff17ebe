-- Guarantee: the workers whose last beat is fresh. Writes nothing.
-- KEYS: WORKERS, BEATS.
-- ARGV: none.
-- Result: {now, {{started, beat, what it says about itself} in msgpack…}}.
local ids = redis.call('ZRANGEBYSCORE', BEATS, '(' .. string.format('%d', now), '+inf')
return {now, hmget(WORKERS, ids)}
