-- Shared: the short way of enqueue.lua, for a batch of new jobs of one queue without fields, which may
-- all start at once, or all after a delay, or all at once in groups or under unique keys nobody holds.
-- Guarantee: as enqueue.lua. Declines, having written nothing, by going on to the long way.
-- KEYS: those of keys.py.
-- ARGV: as enqueue.lua.
-- Result: as enqueue.lua.
local PLAIN_SIZES = {plain = 3, later = 3, grouped = 4, keyed = 6}
if PLAIN_SIZES[ARGV[3]] then
  local CHUNK, PAGE, CREATED_SCHEDULED, CREATED_WAITING = 4000, 256, 12, 13
  local size, queue = PLAIN_SIZES[ARGV[3]], ARGV[4]
  local later, keyed, grouped = ARGV[3] == 'later', ARGV[3] == 'keyed', ARGV[3] == 'grouped'

  local function any_there(key, fields)
    for first = 1, #fields, CHUNK do
      local last = math.min(first + CHUNK - 1, #fields)
      for _, value in ipairs(redis.call('HMGET', key, unpack(fields, first, last))) do
        if value then return true end
      end
    end
    return false
  end

  local function send(command, key, list)
    for first = 1, #list, CHUNK do
      redis.call(command, key, unpack(list, first, math.min(first + CHUNK - 1, #list)))
    end
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

  -- As groups.lua keeps them: the first job of a group and priority makes their lane.
  local function line_up(first_number)
    local names, jobs_of, lanes, places, puts = {}, {}, {}, {}, {}
    for i = 0, (#ARGV - 4) / size - 1 do
      local at = 5 + i * size
      local group, seq = ARGV[at + 3], struct.pack('>I6', first_number + i)
      if not jobs_of[group] then
        names[#names + 1], jobs_of[group], lanes[group] = group, {}, {}
      end
      local list = jobs_of[group]
      list[#list + 1], list[#list + 2] = ARGV[at], seq
      if not lanes[group][ARGV[at]] then lanes[group][ARGV[at]] = seq end
    end
    local key = ROOT .. ':groups:' .. queue
    for first = 1, #names, CHUNK do
      local some = {unpack(names, first, math.min(first + CHUNK - 1, #names))}
      for i, record in ipairs(redis.call('HMGET', key, unpack(some))) do
        local group = some[i]
        local kept = record or '\0\0\0\0'
        for at = 5, #kept, 13 do lanes[group][string.format('%d', (struct.unpack('>i4', kept, at)))] = nil end
        local made = {}
        for priority, seq in pairs(lanes[group]) do
          local packed = struct.pack('>i4', tonumber(priority))
          made[#made + 1] = packed .. seq .. '\0\0\0'
          places[#places + 1], places[#places + 2] = priority, seq .. group .. '\0' .. packed
        end
        if #made > 0 then puts[#puts + 1], puts[#puts + 2] = group, kept .. table.concat(made) end
      end
    end
    -- A lane that is on record and not among the lanes would never be served.
    if #places > 0 then redis.call('ZCARD', ROOT .. ':lanes:' .. queue) end
    for group, list in pairs(jobs_of) do send('ZADD', ROOT .. ':lane:' .. queue .. '\31' .. group, list) end
    send('HSET', key, puts)
    send('ZADD', ROOT .. ':lanes:' .. queue, places)
    if #puts > 0 then redis.call('HSET', RULES, 'gated:queue:' .. queue, '1') end
    redis.call('HINCRBY', TALLIES, 'now:3:' .. queue, (#ARGV - 4) / size)
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
    -- What makes a repeated call a duplicate comes last: if a key of another type stops the script, the
    -- call can be repeated. Keys of the queue come first: without a record, what they hold is passed over.
    if grouped then
      line_up(last - count + 1)
    else
      send('ZADD', ROOT .. (later and ':due:' or ':line:') .. queue, ranks)
    end
    fill_pages(last - count + 1, last)
    redis.call('SADD', QUEUES, queue)
    if later then redis.call('ZADD', MOMENTS, 'LT', soonest, queue) end
    send('HSET', JOBS, records)
    if keyed then send('HSET', UNIQUES, claimants) end
    send('HSET', IDS, names)
    if not later and ARGV[2] ~= '' then redis.call('PUBLISH', ARGV[2] .. 'work:' .. queue, '') end
    return answers
  end

  local answers = enqueue()
  if answers then return answers end
end
