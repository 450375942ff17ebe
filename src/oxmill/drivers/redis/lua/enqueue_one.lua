-- Shared: the way of enqueue.lua for one plain job that is new, without a function or a table of its own: a server
-- that has been idle takes longer to find the code than to run it.
-- Guarantee: as enqueue.lua. Declines, having written nothing, by going on to enqueue_plain.lua.
-- KEYS: those of keys.py.
-- ARGV: as enqueue.lua: 'plain', the queue, and the three arguments of one job.
-- Result: as enqueue.lua.
if ARGV[3] == 'plain' and #ARGV == 7 then
  local call, queue, head, PAGE, CREATED_WAITING = redis.call, ARGV[4], ARGV[6], 256, 13
  local id = string.sub(head, 8, 7 + string.byte(head))
  if not call('HGET', IDS, id) then
    local number = call('HINCRBY', ROOT, 'drawn', 1)
    local seq, page = struct.pack('>I6', number), math.floor(number / PAGE)
    -- In the order of enqueue_plain.lua, and for its reasons.
    call('ZADD', ROOT .. ':line:' .. queue, ARGV[5], seq)
    if call('HINCRBY', FILLED, page, 1) == 1 then call('ZADD', PAGES, page, page) end
    call('SADD', QUEUES, queue)
    call('HSET', JOBS, seq, head .. struct.pack('>I8', now) .. ARGV[7])
    call('HSET', IDS, id, seq)
    if ARGV[2] ~= '' then call('PUBLISH', ARGV[2] .. 'work:' .. queue, '') end
    return {CREATED_WAITING}
  end
end
