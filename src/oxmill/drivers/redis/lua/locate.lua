-- Guarantee: whether this shard has the flow, the job that it will begin with, or one of the stages.
-- Writes nothing.
-- KEYS: FLOWS, IDS, STAGES.
-- ARGV: 3 flow, 4 the job's id, 5… stages ('' for none).
-- Result: 1 or 0.
local found = redis.call('HEXISTS', FLOWS, ARGV[3]) + redis.call('HEXISTS', IDS, ARGV[4])
for i = 5, #ARGV do found = found + redis.call('HEXISTS', STAGES, ARGV[i]) end
return found > 0 and 1 or 0
