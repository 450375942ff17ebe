-- Shared: the short way of settle.lua, for a batch of completions of running jobs without unique keys
-- or anything set aside.
-- Guarantee: as settle.lua. Declines, having written nothing, by going on to the long way.
-- KEYS: those of keys.py.
-- ARGV: as settle.lua.
-- Result: as settle.lua.
if ARGV[3] == 'plain' then
  local function settle()
    local STATE, QUEUE, KEEP, KEY, ASIDE, ATTEMPT, NONCE = 1, 2, 8, 10, 13, 15, 18
    local LEASED, FINISHED, OUTCOME, MARK, ERROR_OF, ENDED_AT = 22, 23, 24, 25, 26, 27
    local RUNNING, SUCCEEDED, WON_SUCCEEDED, PAGE, DAY = 4, 5, 25, 256, 86400000000
    local now = tonumber(ARGV[1])
    if not now then
      local clock = redis.call('TIME')
      now = clock[1] * 1000000 + clock[2]
    end
    local count = (#ARGV - 3) / 4
    local ids, seen = {}, {}
    for i = 1, count do
      ids[i] = ARGV[4 * i]
      if seen[ids[i]] then return nil end
      seen[ids[i]] = true
    end
    local seqs = redis.call('HMGET', IDS, unpack(ids))
    for i = 1, count do
      if not seqs[i] then return nil end
    end

    local answers, parts, keeps, results = {}, {}, {}, {}

    local function part_of(queue)
      local part = parts[queue]
      if not part then
        part = {seqs = {}, records = {}, ends = {}, ids = {}, gone = {}}
        parts[queue] = part
        local packed = redis.call('HGET', SETTINGS, queue)
        keeps[queue] = packed and cmsgpack.unpack(packed)[1] or DAY
      end
      return part
    end

    for i, blob in ipairs(redis.call('HMGET', JOBS, unpack(seqs))) do
      if not blob then return nil end
      local id_size, size, about = struct.unpack('>BI3I3', blob)
      local start = 7 + id_size
      local _, s = cmsgpack.unpack_one(blob, start)
      if s[STATE] ~= RUNNING or #s ~= LEASED or s[KEY] ~= '' or s[ASIDE] ~= ''
        or s[ATTEMPT] ~= tonumber(ARGV[4 * i + 1]) or s[NONCE] ~= ARGV[4 * i + 2] then
        return nil
      end
      local queue, seq = s[QUEUE], seqs[i]
      local part = part_of(queue)
      answers[2 * i - 1], answers[2 * i] = WON_SUCCEEDED, queue
      part.seqs[#part.seqs + 1] = seq
      local keep = s[KEEP] >= 0 and s[KEEP] or keeps[queue]
      if keep == 0 and s[ATTEMPT] == 1 then
        part.gone[#part.gone + 1], part.ids[#part.ids + 1] = seq, ids[i]
      elseif keep == 0 then
        return nil
      else
        local at, result = #part.records, ARGV[4 * i + 3]
        s[STATE], s[LEASED], s[FINISHED], s[OUTCOME] = SUCCEEDED, 0, now, 'complete'
        s[MARK], s[ERROR_OF], s[ENDED_AT], s[ASIDE] = 1, 0, now, string.sub(result, 1, 1)
        if s[ASIDE] == 'r' then
          results[#results + 1] = seq .. 'r'
          results[#results + 1] = string.sub(result, 2)
        end
        local packed = cmsgpack.pack(s)
        part.records[at + 1] = seq
        part.records[at + 2] = struct.pack('>BI3I3', id_size, #packed, about)
          .. string.sub(blob, 8, start) .. packed .. string.sub(blob, start + size + 1)
        part.ends[at + 1], part.ends[at + 2] = string.format('%d', now + keep), seq
      end
    end

    redis.call('HDEL', ROOT, '-')
    if #results > 0 then redis.call('HSET', ASIDES, unpack(results)) end
    for queue, part in pairs(parts) do
      redis.call('ZREM', ROOT .. ':leases:' .. queue, unpack(part.seqs))
      redis.call('HINCRBY', TALLIES, 'ever:5:' .. queue, #part.seqs)
      if #part.records > 0 then
        redis.call('HSET', JOBS, unpack(part.records))
        redis.call('ZADD', ENDED, unpack(part.ends))
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
      for i = 1, count do
        local bucket = string.byte(ids[i], -1) % 16
        buckets[bucket] = (buckets[bucket] or '') .. string.char(#ids[i]) .. ids[i]
      end
      for bucket, packed in pairs(buckets) do
        redis.call('PUBLISH', ARGV[2] .. 'ended:' .. bucket, packed)
      end
    end
    return answers
  end

  local answers = settle()
  if answers then return answers end
end
