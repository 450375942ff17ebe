-- Guarantee: a batch of new jobs of one queue that may start at once, without unique keys or fields:
-- all are stored, or none. The short way of enqueue.lua, which is to be taken when this declines.
-- KEYS: those of keys.py.
-- ARGV: 1 the time, 2 the bells' channel prefix, 3 queue, then per job: priority, the record up to
-- its time of enqueue, the record after it.
-- Result: 1; 0 if an id is taken, and nothing was written.
local CHUNK, PAGE = 4000, 256
local now = tonumber(ARGV[1])
if not now then
  local clock = redis.call('TIME')
  now = clock[1] * 1000000 + clock[2]
end
local ids, count = {}, (#ARGV - 3) / 3
for i = 1, count do
  local head = ARGV[3 * i + 2]
  ids[i] = string.sub(head, 8, 7 + string.byte(head))
end
for first = 1, count, CHUNK do
  local taken = redis.call('HMGET', IDS, unpack(ids, first, math.min(first + CHUNK - 1, count)))
  for i = 1, #taken do
    if taken[i] then return 0 end
  end
end

local last = redis.call('HINCRBY', ROOT, 'drawn', count)
local enqueued = struct.pack('>I8', now)
local names, records, ranks = {}, {}, {}
for i = 1, count do
  local seq = struct.pack('>I6', last - count + i)
  local a, b = 2 * i - 1, 2 * i
  names[a], names[b] = ids[i], seq
  records[a], records[b] = seq, ARGV[3 * i + 2] .. enqueued .. ARGV[3 * i + 3]
  ranks[a], ranks[b] = ARGV[3 * i + 1], seq
end
local line = ROOT .. ':line:' .. ARGV[3]
for first = 1, #names, CHUNK do
  local to = math.min(first + CHUNK - 1, #names)
  redis.call('HSET', IDS, unpack(names, first, to))
  redis.call('HSET', JOBS, unpack(records, first, to))
  redis.call('ZADD', line, unpack(ranks, first, to))
end
for page = math.floor((last - count + 1) / PAGE), math.floor(last / PAGE) do
  local from, to = math.max(page * PAGE, last - count + 1), math.min(page * PAGE + PAGE - 1, last)
  local filled = redis.call('HINCRBY', FILLED, page, to - from + 1)
  if filled == to - from + 1 then redis.call('ZADD', PAGES, page, page) end
end
redis.call('SADD', QUEUES, ARGV[3])
if ARGV[2] ~= '' then redis.call('PUBLISH', ARGV[2] .. 'work:' .. ARGV[3], '') end
return 1
