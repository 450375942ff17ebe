-- Shared by all scripts: the time.
-- Guarantee: one moment for the whole script, by the server's clock.
-- KEYS: none.
-- ARGV: 1 the time in microseconds, empty for the server's own.
-- Result: `now`.
local now = tonumber(ARGV[1])
if not now then
  local clock = redis.call('TIME')
  now = clock[1] * 1000000 + clock[2]
end
