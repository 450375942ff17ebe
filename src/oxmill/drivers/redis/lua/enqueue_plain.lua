-- Shared: the short way of enqueue.lua, for a batch of new jobs of one queue without unique keys or
-- fields, which may all start at once, or all after a delay.
-- Guarantee: as enqueue.lua. Declines, having written nothing, by going on to the long way.
-- KEYS: those of keys.py.
-- ARGV: as enqueue.lua.
-- Result: as enqueue.lua.
if ARGV[3] == 'plain' or ARGV[3] == 'later' then
  local CHUNK, PAGE, CREATED_SCHEDULED, CREATED_WAITING = 4000, 256, 12, 13

  local function taken(ids)
    for first = 1, #ids, CHUNK do
      local last = math.min(first + CHUNK - 1, #ids)
      for _, seq in ipairs(redis.call('HMGET', IDS, unpack(ids, first, last))) do
        if seq then return true end
      end
    end
    return false
  end

  local function fill_pages(first, last)
    for page = math.floor(first / PAGE), math.floor(last / PAGE) do
      local count = math.min(page * PAGE + PAGE - 1, last) - math.max(page * PAGE, first) + 1
      if redis.call('HINCRBY', FILLED, page, count) == count then
        redis.call('ZADD', PAGES, page, page)
      end
    end
  end

  local function enqueue()
    local ids, count, queue = {}, (#ARGV - 4) / 3, ARGV[4]
    for i = 1, count do
      local head = ARGV[3 * i + 3]
      ids[i] = string.sub(head, 8, 7 + string.byte(head))
    end
    if taken(ids) then return nil end
    local now = tonumber(ARGV[1])
    if not now then
      local clock = redis.call('TIME')
      now = clock[1] * 1000000 + clock[2]
    end
    local last = redis.call('HINCRBY', ROOT, 'drawn', count)
    local enqueued = struct.pack('>I8', now)
    local later, soonest = ARGV[3] == 'later', nil
    local names, records, ranks, answers = {}, {}, {}, {}
    for i = 1, count do
      local seq = struct.pack('>I6', last - count + i)
      local a, b = 2 * i - 1, 2 * i
      names[a], names[b] = ids[i], seq
      records[a], records[b] = seq, ARGV[3 * i + 3] .. enqueued .. ARGV[3 * i + 4]
      ranks[a], ranks[b] = ARGV[3 * i + 2], seq
      if later then
        local due = now + ranks[a]
        ranks[a] = due
        if not soonest or due < soonest then soonest = due end
      end
      answers[i] = later and CREATED_SCHEDULED or CREATED_WAITING
    end
    local line = ROOT .. (later and ':due:' or ':line:') .. queue
    for first = 1, #names, CHUNK do
      local to = math.min(first + CHUNK - 1, #names)
      redis.call('HSET', IDS, unpack(names, first, to))
      redis.call('HSET', JOBS, unpack(records, first, to))
      redis.call('ZADD', line, unpack(ranks, first, to))
    end
    fill_pages(last - count + 1, last)
    redis.call('SADD', QUEUES, queue)
    if later then
      redis.call('ZADD', MOMENTS, 'LT', soonest, queue)
    elseif ARGV[2] ~= '' then
      redis.call('PUBLISH', ARGV[2] .. 'work:' .. queue, '')
    end
    return answers
  end

  local answers = enqueue()
  if answers then return answers end
end
