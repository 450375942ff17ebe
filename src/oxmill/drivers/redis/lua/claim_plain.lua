-- Shared: the short way of claim.lua, taken where no moment has come, no rule is set, no queue has groups
-- or gates, only one of them has jobs waiting, and those start for the first time and have no terms of their own.
-- Guarantee: as claim.lua. Declines, having written nothing, by going on to the long way.
-- KEYS: those of keys.py.
-- ARGV: as claim.lua.
-- Result: as claim.lua.
if short.queue and not short.gated then
  local limit, lease = tonumber(ARGV[6]), tonumber(ARGV[3])

  local function claim()
    local queue, leased = short.queue, short.leased
    local line, leases = ROOT .. ':line:' .. queue, ROOT .. ':leases:' .. queue
    local members, seqs = short.members or redis.call('ZRANGE', line, 0, limit - 1), {}
    for i = 1, #members do
      local member = members[i]
      seqs[i] = #member == 6 and member or string.sub(member, -6)
    end
    local answer, until_when = short.answer, string.format('%d', now + lease)
    if #seqs > 0 then
      local records, ends, blobs = {}, {}, redis.call('HMGET', JOBS, unpack(seqs))
      for i = 1, #seqs do
        local record = blobs[i] and leased(blobs[i])
        if not record then return nil end
        records[2 * i - 1], records[2 * i] = seqs[i], record
      end
      -- The last one first: a short sorted set is a list, in which each then finds its place at once.
      local count = 0
      for i = #seqs, 1, -1 do
        ends[count + 1], ends[count + 2], count = until_when, seqs[i], count + 2
      end
      redis.call('ZREMRANGEBYRANK', line, 0, #seqs - 1)
      local put = redis.pcall('ZADD', leases, unpack(ends))
      if type(put) == 'table' and put.err then
        -- A key of another type: the jobs, whose records are as they were, go back to the line.
        for i, member in ipairs(members) do redis.call('ZADD', line, cut.priority(records[2 * i]), member) end
        return put
      end
      redis.call('HSET', JOBS, unpack(records))
      redis.call('ZADD', MOMENTS, 'LT', until_when, queue)
      redis.call('ZADD', GRANTS, 'GT', string.format('%d', now), queue)
    end
    if #seqs == limit then return answer end
    local first
    for i = 9, #ARGV do
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
