-- Shared: the short way of settle.lua, for a batch of completions of running jobs without unique keys
-- or anything set aside, and of jobs of flows as in settle_flow.lua.
-- Guarantee: as settle.lua. Declines, having written nothing, by going on to the long way.
-- KEYS: those of keys.py.
-- ARGV: as settle.lua.
-- Result: as settle.lua.
if string.byte(ARGV[3]) == 112 or string.byte(ARGV[3]) == 115 then
  local STEPPED = string.byte(ARGV[3]) == 115
  local STATE, QUEUE, KEEP, KEY, ASIDE, ATTEMPT, NONCE = 1, 2, 8, 10, 13, 15, 18
  local LEASED, FINISHED, OUTCOME, MARK, ERROR_OF, ENDED_AT = 22, 23, 24, 25, 26, 27
  local RUNNING, SUCCEEDED, WON_SUCCEEDED, FREED, PAGE, DAY = 4, 5, 25, 100, 256, 86400000000

  -- A job that runs for the first time was written by claim_plain.lua: 22 places, of which those from
  -- the expiry (9) to the nonce (18) are known, and the last one is nine bytes long. It need not be
  -- unpacked: strings are what scripts spend their time on.
  local BEFORE_ASIDE, AFTER_ASIDE, LEASED_BYTES = '\0\160\0\255', '\0\1\0\0', 9
  local ENDED_HEAD = '\220\0\27\5'
  local ENDED_TAIL = '\0' .. cmsgpack.pack(now) .. cmsgpack.pack('complete') .. '\1\0' .. cmsgpack.pack(now)
  local NUMBER_BYTES = {[204] = 2, [205] = 3, [206] = 5, [207] = 9, [208] = 2, [209] = 3, [210] = 5, [211] = 9}
  local nonces = {}

  -- Its queue, its retention (-1: the queue's), and where its ninth place starts; nothing if the job
  -- is another, or its nonce.
  local function fresh(blob, start, stop, nonce)
    local kind, _, count, state, size = string.byte(blob, start + 1, start + 5)
    if kind ~= 220 or count ~= LEASED or state ~= RUNNING then return nil end
    if NUMBER_BYTES[string.byte(blob, stop - LEASED_BYTES + 1)] ~= LEASED_BYTES then return nil end
    local at = start + 6
    if size == 217 then size, at = string.byte(blob, at), at + 1 else size = size - 160 end
    local queue, keep_at = string.sub(blob, at, at + size - 1), nil
    at = at + size
    for _ = 3, KEEP do
      keep_at = at
      at = at + (NUMBER_BYTES[string.byte(blob, at)] or 1)
    end
    local expected = nonces[nonce]
    if not expected then
      expected = BEFORE_ASIDE .. '\160' .. AFTER_ASIDE .. cmsgpack.pack(nonce)
      nonces[nonce] = expected
    end
    if string.find(blob, expected, at, true) ~= at then return nil end
    if string.byte(blob, keep_at) == 255 then return queue, -1, at end
    return queue, cmsgpack.unpack(string.sub(blob, keep_at, at - 1)), at
  end

  -- A job's group; empty for none. A description of one part has only a task.
  local described = {}
  local function group_of(blob, from, size)
    if string.byte(blob, from) == 145 then return '' end
    local text = string.sub(blob, from, from + size - 1)
    if not described[text] then described[text] = cmsgpack.unpack(text)[5] or '' end
    return described[text]
  end

  -- As groups.lua keeps them: jobs of these groups run no longer, and their lanes open.
  local function stop(queue, counts)
    local names, key = {}, ROOT .. ':groups:' .. queue
    for group in pairs(counts) do names[#names + 1] = group end
    local puts, drops, opens, places, parked = {}, {}, {}, {}, {{}, {}}
    for i, record in ipairs(redis.call('HMGET', key, unpack(names))) do
      local group, running = names[i], struct.unpack('>I4', record) - counts[names[i]]
      local parts, opened = {struct.pack('>I4', running)}, false
      for at = 5, #record, 13 do
        local into, lane = string.byte(record, at + 10), string.sub(record, at, at + 12)
        if into ~= 0 then
          local member = string.sub(lane, 5, 10) .. group .. '\0' .. string.sub(lane, 1, 4)
          places[#places + 1], places[#places + 2] = struct.unpack('>i4', lane), member
          table.insert(parked[into], member)
          lane, opened = string.sub(lane, 1, 10) .. '\0' .. string.sub(lane, 12), true
        end
        parts[#parts + 1] = lane
      end
      if opened then opens[#opens + 1] = group end
      if running == 0 and #parts == 1 then
        drops[#drops + 1] = group
      else
        puts[#puts + 1], puts[#puts + 2] = group, table.concat(parts)
      end
    end
    if #puts > 0 then redis.call('HSET', key, unpack(puts)) end
    if #drops > 0 then redis.call('HDEL', key, unpack(drops)) end
    if #opens == 0 then return end
    redis.call('ZADD', ROOT .. ':lanes:' .. queue, unpack(places))
    redis.call('ZREM', ROOT .. ':opens:' .. queue, unpack(opens))
    for into = 1, 2 do
      if #parked[into] > 0 then
        redis.call('ZREM', ROOT .. ':parked:' .. queue .. '\31' .. into, unpack(parked[into]))
      end
    end
  end

  local function frame(id_size, size, about) return struct.pack('>BI3I3', id_size, size, about) end

  -- Where each item starts among the arguments; nothing if a job is named twice.
  local function items()
    local ids, places, seen, at = {}, {}, {}, 4
    while at <= #ARGV do
      if seen[ARGV[at]] then return nil end
      seen[ARGV[at]] = true
      ids[#ids + 1], places[#places + 1] = ARGV[at], at
      at = at + 4
      if STEPPED then
        local fields, steps = string.byte(ARGV[at], 1, 2)
        at = at + 1 + 2 * (fields or 0) + 5 * (steps or 0)
      end
    end
    return ids, places
  end

  local function settle()
    local ids, places = items()
    if not ids then return nil end
    local count, way = #ids, nil
    local seqs = redis.call('HMGET', IDS, unpack(ids))
    for i = 1, count do
      if not seqs[i] then return nil end
    end

    local answers, parts, results = {}, {}, {}

    local function part_of(queue)
      local part = parts[queue]
      if not part then
        local packed = redis.call('HGET', SETTINGS, queue)
        local settings = packed and cmsgpack.unpack(packed) or {DAY}
        part = {keep = settings[1], seqs = {}, records = {}, ends = {}, ids = {}, gone = {}, expiry = {}}
        part.frees = (settings[5] or -1) >= 0
        part.frees_group = (settings[8] or -1) >= 0 or settings[11] == 1
        parts[queue] = part
      end
      return part
    end

    for i, blob in ipairs(redis.call('HMGET', JOBS, unpack(seqs))) do
      if not blob then return nil end
      local seq, place = seqs[i], places[i]
      local attempt, nonce, result = ARGV[place + 1], ARGV[place + 2], ARGV[place + 3]
      local id_size, size, about = struct.unpack('>BI3I3', blob)
      local start, letter = 7 + id_size, string.sub(result, 1, 1)
      local queue, keep, at = fresh(blob, start, start + size, nonce)
      local s, standing
      -- A job of a flow has at least 30 places.
      if not queue and string.byte(blob, start + 1) == 220 and string.byte(blob, start + 3) >= 30 then
        way = way or flow_way()
        queue, standing = way.take(ids[i], blob, start, start + size, {attempt = attempt, nonce = nonce}, letter,
          STEPPED and place + 4)
        if not queue then return nil end
      elseif STEPPED and ARGV[place + 4] ~= '' then
        return nil
      elseif not queue or attempt ~= '1' then
        s = cmsgpack.unpack(string.sub(blob, start + 1, start + size))
        if s[STATE] ~= RUNNING or #s ~= LEASED or s[KEY] ~= '' or s[ASIDE] ~= ''
          or s[ATTEMPT] ~= tonumber(attempt) or s[NONCE] ~= nonce then
          return nil
        end
        queue, keep = s[QUEUE], s[KEEP]
      end
      local part = part_of(queue)
      if standing then keep = -1 elseif keep < 0 then keep = part.keep end
      local group, freed = group_of(blob, start + size + 1, about), part.frees
      if group ~= '' then
        part.groups = part.groups or {}
        part.groups[group] = (part.groups[group] or 0) + 1
        freed = freed or part.frees_group
      end
      if freed then part.freed = true end
      answers[2 * i - 1], answers[2 * i] = freed and FREED + WON_SUCCEEDED or WON_SUCCEEDED, queue
      part.seqs[#part.seqs + 1] = seq
      if keep == 0 then
        if s then return nil end
        part.gone[#part.gone + 1], part.ids[#part.ids + 1] = seq, ids[i]
      else
        local record
        if standing then
          record = frame(id_size, #standing, about) .. string.sub(blob, 8, start) .. standing
            .. string.sub(blob, start + size + 1)
        elseif s then
          s[STATE], s[LEASED], s[FINISHED], s[OUTCOME] = SUCCEEDED, 0, now, 'complete'
          s[MARK], s[ERROR_OF], s[ENDED_AT], s[ASIDE] = 1, 0, now, letter
          local packed = cmsgpack.pack(s)
          record = frame(id_size, #packed, about) .. string.sub(blob, 8, start) .. packed
            .. string.sub(blob, start + size + 1)
        else
          local grown = size + #letter - LEASED_BYTES + #ENDED_TAIL
          local aside_at = at + #BEFORE_ASIDE
          record = frame(id_size, grown, about) .. string.sub(blob, 8, start) .. ENDED_HEAD
            .. string.sub(blob, start + 5, aside_at - 1) .. (letter == '' and '\160' or '\161') .. letter
            .. string.sub(blob, aside_at + 1, start + size - LEASED_BYTES) .. ENDED_TAIL
            .. string.sub(blob, start + size + 1)
        end
        if letter == 'r' then
          results[#results + 1] = seq .. 'r'
          results[#results + 1] = string.sub(result, 2)
        end
        local last = #part.records
        part.records[last + 1], part.records[last + 2] = seq, record
        -- A job of a flow is kept as long as that.
        if not standing then
          if not part.expiry[keep] then part.expiry[keep] = string.format('%d', now + keep) end
          part.ends[#part.ends + 1], part.ends[#part.ends + 2] = part.expiry[keep], seq
        end
      end
    end
    if way and not way.ready() then return nil end

    redis.call('HDEL', ROOT, '-')
    local filled = way and way.write() or {}
    for _, queue in ipairs(filled) do part_of(queue).freed = true end
    if #filled > 0 then answers[2 * count] = {answers[2 * count], unpack(filled)} end
    if #results > 0 then redis.call('HSET', ASIDES, unpack(results)) end
    for queue, part in pairs(parts) do
      -- If keys of the groups are of another type, the jobs keep their leases.
      if part.groups then stop(queue, part.groups) end
      if #part.seqs > 0 then
        redis.call('ZREM', ROOT .. ':leases:' .. queue, unpack(part.seqs))
        redis.call('HINCRBY', TALLIES, 'ever:5:' .. queue, #part.seqs)
      end
      if part.freed and ARGV[2] ~= '' then redis.call('PUBLISH', ARGV[2] .. 'work:' .. queue, '') end
      if #part.records > 0 then
        redis.call('HSET', JOBS, unpack(part.records))
        if #part.ends > 0 then redis.call('ZADD', ENDED, unpack(part.ends)) end
        redis.call('HINCRBY', TALLIES, 'now:5:' .. queue, #part.records / 2)
      end
      if #part.gone > 0 then
        redis.call('HDEL', JOBS, unpack(part.gone))
        redis.call('HDEL', IDS, unpack(part.ids))
        local pages = {}
        for _, seq in ipairs(part.gone) do
          local page = math.floor(struct.unpack('>I6', seq) / PAGE)
          pages[page] = (pages[page] or 0) - 1
        end
        for page, change in pairs(pages) do
          if redis.call('HINCRBY', FILLED, page, change) == 0 then
            redis.call('HDEL', FILLED, page)
            redis.call('ZREM', PAGES, page)
          end
        end
      end
    end
    if ARGV[2] ~= '' then
      local buckets = {}
      local function note(id)
        local bucket = string.byte(id, -1) % 16
        local told = buckets[bucket]
        if not told then told = {}; buckets[bucket] = told end
        told[#told + 1] = string.char(#id)
        told[#told + 1] = id
      end
      for i = 1, count do note(ids[i]) end
      for _, flow in ipairs(way and way.over or {}) do note(flow) end
      for bucket, told in pairs(buckets) do
        redis.call('PUBLISH', ARGV[2] .. 'ended:' .. bucket, table.concat(told))
      end
    end
    return answers
  end

  local answers = settle()
  if answers then return answers end
end
