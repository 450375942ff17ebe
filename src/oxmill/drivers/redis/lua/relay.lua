-- Guarantee: each event of another shard is told here once, however often it is passed on.
-- KEYS: ROOT, EVENTS.
-- ARGV: 3 the other shard, then per event 6: its number there, time, kind, target, author, detail.
-- Result: the number of the newest event of that shard that is known here.
local known = 'heard:' .. ARGV[3]
local heard = tonumber(redis.call('HGET', ROOT, known) or 0)
for i = 4, #ARGV, 6 do
  local number, at, kind, target, author, detail = unpack(ARGV, i, i + 5)
  if tonumber(number) > heard then
    heard = tonumber(number)
    tell(kind, target, author, detail, tonumber(at))
  end
end
hput(ROOT, known, string.format('%d', heard))
flush()
return heard
