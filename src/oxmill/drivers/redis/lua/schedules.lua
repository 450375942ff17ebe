-- Guarantee: all schedules as of one moment. Writes nothing.
-- KEYS: SCHEDULES.
-- ARGV: none.
-- Result: {now, {what put_schedules.lua keeps…}}.
return {now, redis.call('HVALS', SCHEDULES)}
