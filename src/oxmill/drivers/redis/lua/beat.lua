-- Guarantee: the worker is on record until its time to live has passed, and learns what people ask
-- of it; stale workers are forgotten.
-- KEYS: WORKERS, BEATS, ORDERS.
-- ARGV: 3 worker, 4 what it says about itself, 5 time to live, 6 1 if it leaves.
-- Result: {now, command}.
make_way()
for _, id in ipairs(redis.call('ZRANGEBYSCORE', BEATS, '-inf', now)) do
  hput(WORKERS, id, false)
  hput(ORDERS, id, false)
  zput(BEATS, id, false)
end
local id = ARGV[3]
if ARGV[6] == '1' then
  hput(WORKERS, id, false)
  hput(ORDERS, id, false)
  zput(BEATS, id, false)
  flush()
  return {now, ''}
end
local packed = hget(WORKERS, id)
local started = packed and cmsgpack.unpack(packed)[1] or now
hput(WORKERS, id, cmsgpack.pack({started, now, ARGV[4]}))
zput(BEATS, id, now + tonumber(ARGV[5]))
local command = hget(ORDERS, id) or ''
flush()
return {now, command}
