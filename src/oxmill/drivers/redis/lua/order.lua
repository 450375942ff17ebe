-- Guarantee: those of the named workers that are there learn the command with their next beat.
-- KEYS: ORDERS, BEATS, EVENTS.
-- ARGV: 3 command, 4 author, 5… workers.
-- Result: the workers that are there.
local there = {}
for i = 5, #ARGV do
  local stale = tonumber(redis.call('ZSCORE', BEATS, ARGV[i]))
  if stale and stale > now then
    there[#there + 1] = ARGV[i]
    hput(ORDERS, ARGV[i], ARGV[3])
    tell('order', ARGV[i], ARGV[4], ARGV[3])
    ended.ordered = true
  end
end
flush()
ring()
return there
