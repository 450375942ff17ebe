-- Guarantee: all schedules as of one moment. Writes nothing.
-- KEYS: SCHEDULES.
-- ARGV: none.
-- Result: {now, name, what put_schedules.lua keeps, …}.
return {now, unpack(redis.call('HGETALL', SCHEDULES))}
