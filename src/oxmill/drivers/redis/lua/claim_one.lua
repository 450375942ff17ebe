-- Shared: the looks of a claim of one queue, and its way where a single job waits there, which is what an idle worker
-- is rung for.
-- Guarantee: as claim.lua, where claim_plain.lua would serve. Declines, having written nothing, by going on to it.
-- KEYS: those of keys.py.
-- ARGV: as claim.lua.
-- Result: as claim.lua, or, for those who go on, what claim_short.lua tells, and `members`, the first of the line.
local short = {answer = {now, 0}}
if #ARGV == 9 then
  local call, queue = redis.call, ARGV[9]
  local line, moment = ROOT .. ':line:' .. queue, call('ZSCORE', MOMENTS, queue)
  if not (moment and tonumber(moment) <= now) then
    local set = call('HMGET', RULES, 'scoped', 'pause:queue:' .. queue, 'block:queue:' .. queue, 'gated:queue:' .. queue)
    if not (set[1] or set[2] or set[3]) then
      short.queue, short.gated = queue, set[4] and queue
      short.members = not set[4] and call('ZRANGE', line, 0, ARGV[6] - 1)
    end
  end
  local members = short.members or {}
  local seq, blob, form = members[1], nil, nil
  if #members == 1 and #seq == 6 then
    blob = call('HGET', JOBS, seq)
    form = blob and cut.fresh_form(blob)
  end
  if form then
    local leases, until_when = ROOT .. ':leases:' .. queue, string.format('%d', now + tonumber(ARGV[3]))
    call('ZREM', line, seq)
    local put = redis.pcall('ZADD', leases, until_when, seq)
    if type(put) == 'table' and put.err then
      -- A key of another type: the job, whose record is as it was, goes back to the line.
      call('ZADD', line, cut.priority(blob), seq)
      return put
    end
    call('HSET', JOBS, seq, cut.fresh_lease(blob, form))
    call('ZADD', MOMENTS, 'LT', until_when, queue)
    call('ZADD', GRANTS, 'GT', string.format('%d', now), queue)
    if ARGV[6] == '1' then return {now, 0, blob} end
    -- The queue's moment is at most the first due time and the first end of a lease: to come back then is soon enough.
    return {now, math.min(tonumber(moment or until_when), until_when), blob}
  end
end
