-- Guarantee: the queue's settings hold for every settlement and claim that starts later.
-- Every shard keeps them, the first one tells.
-- KEYS: SETTINGS, QUEUES, EVENTS.
-- ARGV: 3 queue, 4 {keep succeeded, keep failed, keep cancelled, settings} in msgpack, 5 author.
-- Result: 1.
make_way()
hput(SETTINGS, ARGV[3], ARGV[4])
named[ARGV[3]] = true
if string.sub(ROOT, -3) == ':0}' then tell('settings', ARGV[3], ARGV[5], '') end
flush()
return 1
