-- Guarantee: the queue's settings hold for every settlement and claim that starts later, and every
-- parked lane is looked at again. Every shard keeps them, the first one tells.
-- KEYS: those of keys.py.
-- ARGV: 3 queue, 4 {keep succeeded, keep failed, keep cancelled, settings, then limits as in steering.py}
-- in msgpack, 5 author, 6 what the event says, 7 what the first shard must keep now, if that matters.
-- Result: 1, or 0 if it must be asked again: the first shard keeps something else, or so many lanes are
-- still on their way from the last time.
make_way()
local AT_ONCE = 250
local queue, first = ARGV[3], string.sub(ROOT, -3) == ':0}'
local kept = ARGV[7] and first and redis.call('HGET', SETTINGS, queue) or ''
if ARGV[7] and first and kept ~= ARGV[7] then return 0 end
local opened = groups.open_all(queue, AT_ONCE)
if opened then
  hput(SETTINGS, queue, ARGV[4])
  if cmsgpack.unpack(ARGV[4])[14] == 1 then hput(RULES, 'gated:queue:' .. queue, '1') end
  named[queue] = true
  gain(queue)
  if first then tell('settings', queue, ARGV[5], ARGV[6]) end
end
flush()
ring()
return opened and 1 or 0
