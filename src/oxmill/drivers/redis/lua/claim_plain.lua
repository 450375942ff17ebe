-- Shared: the short way of claim.lua, taken where no moment has come, no rule is set, no queue has groups
-- or gates, only one of them has jobs waiting, and those are fresh and without terms of their own.
-- Guarantee: as claim.lua. Declines, having written nothing, by going on to the long way.
-- KEYS: those of keys.py.
-- ARGV: as claim.lua.
-- Result: as claim.lua.
do
  -- A fresh standing is an array of 4 to 8: state, queue, priority, time of enqueue, and perhaps
  -- due, attempts, crashes and retention. What a lease adds is the same for all of them.
  local MOST, LEASED_SIZE, WAITING, RUNNING = 8, 22, 3, 4
  local LACKING = {0, '', 0, 0, 0, 20, 3, -1, 0, '', 0, -1, '', 0, 1, 0, 0}
  local limit, lease = tonumber(ARGV[6]), tonumber(ARGV[3])

  local function busy_queue()
    local found, rules = nil, {'scoped'}
    local moments = redis.call('ZMSCORE', MOMENTS, unpack(ARGV, 8))
    for i = 8, #ARGV do
      local moment = moments[i - 7]
      if moment and tonumber(moment) <= now then return nil end
      rules[#rules + 1] = 'pause:queue:' .. ARGV[i]
      rules[#rules + 1] = 'block:queue:' .. ARGV[i]
      rules[#rules + 1] = 'gated:queue:' .. ARGV[i]
      if redis.call('ZCARD', ROOT .. ':line:' .. ARGV[i]) > 0 then
        if found then return nil end
        found = ARGV[i]
      end
    end
    for _, rule in ipairs(redis.call('HMGET', RULES, unpack(rules))) do
      if rule then return nil end
    end
    return found or ARGV[8]
  end

  local additions = {}
  local function addition(size)
    if not additions[size] then
      local parts = {}
      for place = size + 1, #LACKING do parts[#parts + 1] = cmsgpack.pack(LACKING[place]) end
      for _, part in ipairs({ARGV[5], ARGV[4], now, lease, now + lease}) do
        parts[#parts + 1] = cmsgpack.pack(part)
      end
      additions[size] = table.concat(parts)
    end
    return additions[size]
  end

  local function leased(blob)
    local id_size, size, about = struct.unpack('>BI3I3', blob)
    local start = 7 + id_size
    local kind, state = string.byte(blob, start + 1, start + 2)
    local count = kind - 144
    if count < 4 or count > MOST or state ~= WAITING then return nil end
    local added = addition(count)
    return struct.pack('>BI3I3', id_size, size + 2 + #added, about)
      .. string.sub(blob, 8, start) .. '\220\0\22\4' .. string.sub(blob, start + 3, start + size)
      .. added .. string.sub(blob, start + size + 1)
  end

  local function claim()
    local queue = #ARGV >= 8 and busy_queue()
    if not queue then return nil end
    local line, leases = ROOT .. ':line:' .. queue, ROOT .. ':leases:' .. queue
    local seqs = redis.call('ZRANGE', line, 0, limit - 1)
    local answer, until_when = {now, 0}, string.format('%d', now + lease)
    if #seqs > 0 then
      local records, ends = {}, {}
      for i, blob in ipairs(redis.call('HMGET', JOBS, unpack(seqs))) do
        local record = blob and #seqs[i] == 6 and leased(blob)
        if not record then return nil end
        answer[i + 2] = record
        records[2 * i - 1], records[2 * i] = seqs[i], record
        ends[2 * i - 1], ends[2 * i] = until_when, seqs[i]
      end
      redis.call('ZREMRANGEBYRANK', line, 0, #seqs - 1)
      redis.call('HSET', JOBS, unpack(records))
      redis.call('ZADD', leases, unpack(ends))
      redis.call('ZADD', MOMENTS, 'LT', until_when, queue)
      redis.call('ZADD', GRANTS, 'GT', string.format('%d', now), queue)
    end
    if #seqs == limit then return answer end
    local first
    for i = 8, #ARGV do
      for _, kind in ipairs({':due:', ':leases:'}) do
        local head = tonumber(redis.call('ZRANGE', ROOT .. kind .. ARGV[i], 0, 0, 'WITHSCORES')[2])
        if head and (not first or head < first) then first = head end
      end
    end
    answer[2] = first or 0
    return answer
  end

  local answer = claim()
  if answer then return answer end
end
