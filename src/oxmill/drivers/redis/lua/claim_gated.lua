-- Shared: the short way of claim.lua for a queue with groups or limits, taken where the claim can be filled
-- by the open lanes of the best priority, all gates of which are open, with fresh jobs.
-- Guarantee: as claim.lua. Declines, having written nothing, by going on to the long way.
-- KEYS: those of keys.py.
-- ARGV: as claim.lua.
-- Result: as claim.lua.
if short.gated then
  local PART, LANE_SIZE, NEVER = '\31', 13, math.huge
  local queue, limit, lease = short.queue, tonumber(ARGV[6]), tonumber(ARGV[3])
  local function key(kind) return ROOT .. ':' .. kind .. ':' .. queue end

  -- As gates.lua reckons: how many starts a rate still allows.
  local function room(tat, interval, burst)
    if not interval or interval <= 0 then return NEVER end
    return math.max(burst - math.ceil(math.max(tat - now, 0) / interval), 0)
  end

  local function settings_of()
    local packed = redis.call('HGET', SETTINGS, queue)
    local s = packed and cmsgpack.unpack(packed) or {}
    if (s[12] or 0) > 0 or (s[13] and next(s[13])) then return nil end
    local group_most = s[11] == 1 and 1 or (s[8] or -1)
    return {limits = s[14] == 1, most = s[5] or -1, rate = s[6], burst = s[7], group_most = group_most, group_rate = s[9], group_burst = s[10]}
  end

  -- Whether the queue's own gates let the whole claim pass. Gives the meter of its rate.
  local function queue_open(settings)
    -- Asked in any case: a key of another type must stop the claim here, before it writes.
    local running = redis.call('ZCARD', key('leases'))
    if settings.most >= 0 and running + limit > settings.most then return nil end
    local meters = redis.call('ZMSCORE', METERS, 'closed' .. PART .. queue, 'rate' .. PART .. queue)
    if tonumber(meters[1] or 0) > now then return nil end
    local tat = tonumber(meters[2] or 0)
    if room(tat, settings.rate, settings.burst) < limit then return nil end
    return tat
  end

  -- Every priority in the line has its lane, and nothing waits to be opened or brought back.
  local function all_in_place(plain, state)
    if state and string.byte(state, 2) ~= 0 then return false end
    if redis.call('ZCARD', key('gates')) > 0 then return false end
    local opens = redis.call('ZRANGE', key('opens'), 0, 0, 'WITHSCORES')[2]
    if opens and tonumber(opens) <= now then return false end
    local known, low = {}, '-inf'
    for at = 5, #(plain or ''), LANE_SIZE do known[struct.unpack('>i4', plain, at)] = true end
    while true do
      local first = redis.call('ZRANGEBYSCORE', key('line'), low, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
      if not first[1] then return true end
      if not known[tonumber(first[2])] then return false end
      low = '(' .. first[2]
    end
  end

  -- The open lanes of the best priority, with the jobs at their heads; nothing if they are not enough.
  local function lanes_of()
    local entries = redis.call('ZRANGE', key('lanes'), 0, limit - 1, 'WITHSCORES')
    local lanes, names, priority = {}, {}, entries[2]
    for i = 1, #entries, 2 do
      if entries[i + 1] ~= priority then break end
      local group = string.sub(entries[i], 7, -6)
      lanes[#lanes + 1] = {member = entries[i], group = group, taken = 0, priority = priority}
      names[#names + 1] = group
    end
    if #lanes == 0 then return nil end
    local each, there = math.ceil(limit / #lanes) + 1, 0
    if #lanes * 2 < limit and #lanes > 1 then each = each * 2 end
    for _, lane in ipairs(lanes) do
      lane.key = lane.group == '' and key('line') or key('lane') .. PART .. lane.group
      lane.jobs = redis.call('ZRANGEBYSCORE', lane.key, priority, priority, 'LIMIT', 0, each)
      lane.most = #lane.jobs == each and each - 1 or each
      there = there + math.min(#lane.jobs, lane.most)
      if #lane.jobs == 0 then return nil end
    end
    return there >= limit and lanes or nil, names
  end

  -- Without limits only lanes of groups make a queue gated; otherwise its line is claimed as ever.
  local function truly_gated(settings, names)
    for _, group in ipairs(names) do
      if settings.limits or group ~= '' then return true end
    end
    return false
  end

  -- Turn by turn, one job each. Gives the jobs in order, and the lanes in the order of their last turns.
  local function serve(lanes)
    local chosen, last = {}, {}
    while #chosen < limit do
      for _, lane in ipairs(lanes) do
        if #chosen == limit then break end
        if lane.taken < #lane.jobs then
          if lane.taken == lane.most then return nil end
          lane.taken = lane.taken + 1
          chosen[#chosen + 1] = lane.jobs[lane.taken]
          lane.turn = #chosen
        end
      end
    end
    for _, lane in ipairs(lanes) do
      if lane.taken > 0 then last[#last + 1] = lane end
    end
    table.sort(last, function(a, b) return a.turn < b.turn end)
    return chosen, last
  end

  -- Whether the gates of their groups let these lanes through; gives what their meters become.
  local function groups_open(lanes, records, settings)
    local names, puts = {}, {}
    for _, lane in ipairs(lanes) do
      names[#names + 1] = 'closed' .. PART .. queue .. PART .. lane.group
      names[#names + 1] = 'rate' .. PART .. queue .. PART .. lane.group
    end
    local meters = redis.call('ZMSCORE', METERS, unpack(names))
    for i, lane in ipairs(lanes) do
      local record = records[lane.group]
      if not record then return nil end
      if lane.group ~= '' then
        local running, tat = struct.unpack('>I4', record), tonumber(meters[2 * i] or 0)
        if settings.group_most >= 0 and running + lane.taken > settings.group_most then return nil end
        if tonumber(meters[2 * i - 1] or 0) > now then return nil end
        if room(tat, settings.group_rate, settings.group_burst) < lane.taken then return nil end
        if (settings.group_rate or 0) > 0 then
          puts[#puts + 1] = math.max(tat, now) + lane.taken * settings.group_rate
          puts[#puts + 1] = names[2 * i]
        end
      end
    end
    return puts
  end

  -- A group's record once these jobs of it run and its lane has another turn, or is gone.
  local function moved_on(lane, record, turn)
    local running = struct.unpack('>I4', record)
    if lane.group ~= '' then running = running + lane.taken end
    local own = struct.pack('>i4', tonumber(lane.priority))
    local parts = {struct.pack('>I4', running)}
    for at = 5, #record, LANE_SIZE do
      local entry = string.sub(record, at, at + LANE_SIZE - 1)
      if string.sub(entry, 1, 4) ~= own then
        parts[#parts + 1] = entry
      elseif turn then
        parts[#parts + 1] = own .. turn .. '\0\0\0'
      end
    end
    return table.concat(parts)
  end

  local function claim()
    if limit > 2 * tonumber(ARGV[7]) or redis.call('HGET', RULES, 'throttle:queue:' .. queue) then return nil end
    local settings = settings_of()
    local tat = settings and queue_open(settings)
    local lanes, names = nil, nil
    if tat then lanes, names = lanes_of() end
    if not lanes or not truly_gated(settings, names) then return nil end
    names[#names + 1], names[#names + 2] = '', '\30'
    local kept, records = redis.call('HMGET', key('groups'), unpack(names)), {}
    for i, name in ipairs(names) do records[name] = kept[i] end
    if redis.call('HGET', RULES, 'grouped') or not all_in_place(records[''], records['\30']) then return nil end
    local chosen, served = serve(lanes)
    local spent = chosen and groups_open(served, records, settings)
    if not spent then return nil end

    local leases, jobs, seqs = {}, {}, {}
    local until_when = string.format('%d', now + lease)
    for i, member in ipairs(chosen) do seqs[i] = string.sub(member, -6) end
    for i, blob in ipairs(redis.call('HMGET', JOBS, unpack(seqs))) do
      local record = blob and short.leased(blob)
      if not record then return nil end
      jobs[2 * i - 1], jobs[2 * i] = seqs[i], record
      leases[2 * i - 1], leases[2 * i] = until_when, seqs[i]
    end

    local puts, drops, places, gone, grouped = {}, {}, {}, {}, 0
    for i, lane in ipairs(served) do gone[i] = lane.member end
    -- A write that frees comes first, or a server over its memory limit would refuse the claim.
    redis.call('ZREM', key('lanes'), unpack(gone))
    local drawn = redis.call('HINCRBY', ROOT, 'drawn', #served) - #served
    for i, lane in ipairs(served) do
      local turn = lane.taken < #lane.jobs and struct.pack('>I6', drawn + i) or nil
      local record = moved_on(lane, records[lane.group], turn)
      if turn then
        places[#places + 1], places[#places + 2] = lane.priority, turn .. string.sub(lane.member, 7)
      end
      if record == '\0\0\0\0' then
        drops[#drops + 1] = lane.group
      else
        puts[#puts + 1], puts[#puts + 2] = lane.group, record
      end
      if lane.group ~= '' then grouped = grouped + lane.taken end
      redis.call('ZREM', lane.key, unpack(lane.jobs, 1, lane.taken))
    end
    if #places > 0 then redis.call('ZADD', key('lanes'), unpack(places)) end
    if #puts > 0 then redis.call('HSET', key('groups'), unpack(puts)) end
    if #drops > 0 then redis.call('HDEL', key('groups'), unpack(drops)) end
    if (settings.rate or 0) > 0 then
      spent[#spent + 1] = math.max(tat, now) + limit * settings.rate
      spent[#spent + 1] = 'rate' .. PART .. queue
    end
    if #spent > 0 then redis.call('ZADD', METERS, unpack(spent)) end
    if grouped > 0 then redis.call('HINCRBY', TALLIES, 'now:3:' .. queue, -grouped) end
    redis.call('HSET', JOBS, unpack(jobs))
    redis.call('ZADD', key('leases'), unpack(leases))
    redis.call('ZADD', MOMENTS, 'LT', until_when, queue)
    redis.call('ZADD', GRANTS, 'GT', string.format('%d', now), queue)
    return short.answer
  end

  local answer = claim()
  if answer then return answer end
end
