-- Shared: the short way of enqueue.lua, for a batch of new jobs of one queue without fields, which may
-- all start at once, or all after a delay, or all at once under unique keys that nobody holds.
-- Guarantee: as enqueue.lua. Declines, having written nothing, by going on to the long way.
-- KEYS: those of keys.py.
-- ARGV: as enqueue.lua.
-- Result: as enqueue.lua.
local PLAIN_SIZES = {plain = 3, later = 3, keyed = 6}
if PLAIN_SIZES[ARGV[3]] then
  local CHUNK, PAGE, CREATED_SCHEDULED, CREATED_WAITING = 4000, 256, 12, 13
  local size, queue = PLAIN_SIZES[ARGV[3]], ARGV[4]
  local later, keyed = ARGV[3] == 'later', ARGV[3] == 'keyed'

  local function any_there(key, fields)
    for first = 1, #fields, CHUNK do
      local last = math.min(first + CHUNK - 1, #fields)
      for _, value in ipairs(redis.call('HMGET', key, unpack(fields, first, last))) do
        if value then return true end
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

  -- As unique.lua keeps it: {holder, live, held until, no successor}.
  local function claimant(id, within)
    local held = within == '-1' and '\255' or cmsgpack.pack(now + within)
    return '\148' .. cmsgpack.pack(id) .. '\1' .. held .. '\160'
  end

  local function enqueue()
    local ids, keys, count = {}, {}, (#ARGV - 4) / size
    for i = 1, count do
      local at = 5 + (i - 1) * size
      local head = ARGV[at + 1]
      ids[i] = string.sub(head, 8, 7 + string.byte(head))
      if keyed then keys[i] = ARGV[at + 3] end
    end
    if any_there(IDS, ids) or any_there(UNIQUES, keys) then return nil end
    local last = redis.call('HINCRBY', ROOT, 'drawn', count)
    local enqueued, soonest = struct.pack('>I8', now), nil
    local names, records, ranks, claimants, answers = {}, {}, {}, {}, {}
    for i = 1, count do
      local at, seq = 5 + (i - 1) * size, struct.pack('>I6', last - count + i)
      local a, b = 2 * i - 1, 2 * i
      names[a], names[b] = ids[i], seq
      records[a], records[b] = seq, ARGV[at + 1] .. enqueued .. ARGV[at + 2]
      ranks[a], ranks[b] = ARGV[at], seq
      if later then
        local due = now + ARGV[at]
        ranks[a] = due
        if not soonest or due < soonest then soonest = due end
      elseif keyed then
        claimants[a], claimants[b] = keys[i], claimant(ids[i], ARGV[at + 4])
      end
      answers[i] = later and CREATED_SCHEDULED or CREATED_WAITING
    end
    local line = ROOT .. (later and ':due:' or ':line:') .. queue
    for first = 1, #names, CHUNK do
      local to = math.min(first + CHUNK - 1, #names)
      redis.call('HSET', IDS, unpack(names, first, to))
      redis.call('HSET', JOBS, unpack(records, first, to))
      redis.call('ZADD', line, unpack(ranks, first, to))
      if keyed then redis.call('HSET', UNIQUES, unpack(claimants, first, to)) end
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
