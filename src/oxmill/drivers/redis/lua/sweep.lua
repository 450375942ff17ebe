-- Guarantee: what a claim does for its queues is done for all in which a moment has come, `limit`
-- jobs of each kind; leases granted later than now (the clock was stepped back) are cut to their
-- full length from now, and their queues' lanes are looked at again, of a bounded number of queues at once; rules that have ended are dropped; joins past their deadline give up, and
-- ripples go on.
-- KEYS: those of keys.py.
-- ARGV: 3 limit, 4 bound of leases that are cut.
-- Result: {lapsed, poisoned, due, expired, more, {queues that gained waiting jobs}, {jobs ended}}.
make_way()
local QUEUES_AT_ONCE, LOOKED_AT, TOLERANCE = 100, 1000, 1000000
local limit = tonumber(ARGV[3])

-- The leases of a queue that end last are looked at first: those granted later than now are among
-- them. Gives how many may still be changed.
local function rebase(queue, left)
  local seqs = redis.call('ZREVRANGEBYSCORE', leases_of(queue), '+inf', now + TOLERANCE,
    'LIMIT', 0, LOOKED_AT)
  load_all(seqs)
  for _, seq in ipairs(seqs) do
    local job = load(seq)
    local s = job and job.s
    if not s then
      zput(leases_of(queue), seq, false)
    elseif s[LEASED] - s[LEASE] > now + TOLERANCE then
      if left == 0 then return 0 end
      s[LEASED] = now + s[LEASE]
      prolong(job)
      left = left - 1
    end
  end
  redis.call('ZADD', GRANTS, now, queue)
  -- What lanes are parked for was judged by the other clock.
  groups.open_all(queue, limit)
  return left
end

-- Joins that have waited for too long, the longest overdue first. Whether there are more.
local function see_to_late(most)
  local seqs = redis.call('ZRANGEBYSCORE', OVERDUE, '-inf', now, 'LIMIT', 0, most + 1)
  load_all(seqs)
  for i = 1, math.min(most, #seqs) do
    local job = load(seqs[i])
    if job and kin.is_late(job) then kin.give_up(job) else zput(OVERDUE, seqs[i], false) end
  end
  return #seqs > most
end

local ahead = redis.call('ZRANGEBYSCORE', GRANTS, '(' .. string.format('%d', now + TOLERANCE), '+inf',
  'LIMIT', 0, QUEUES_AT_ONCE)
local left, looks, unseen = tonumber(ARGV[4]), LOOKED_AT, false
for i, queue in ipairs(ahead) do
  -- One queue at least; and another only if what is to be looked at there can be looked at whole.
  looks = looks - math.max(math.min(redis.call('ZCARD', leases_of(queue)), LOOKED_AT), limit)
  unseen = left == 0 or (i > 1 and looks < 0)
  if unseen then break end
  left = rebase(queue, left)
end
if #ahead > 0 then flush() end

local ripe = redis.call('ZRANGEBYSCORE', MOMENTS, '-inf', now, 'LIMIT', 0, QUEUES_AT_ONCE)
local counts = ripen(ripe, limit)
local over = redis.call('ZRANGEBYSCORE', ENDINGS, '-inf', now, 'LIMIT', 0, QUEUES_AT_ONCE)
for _, field in ipairs(over) do ruling.put(field, false) end
flush()
if #over > 0 then ruling.flag() end
set_moments(ripe)
local late = see_to_late(limit)
local rippling = (#kin.fresh > 0 or redis.call('ZCARD', RIPPLES) > 0) and kin.sweep_ripples(limit)
flush()
if late or rippling then counts[5] = 1 end
if #ripe == QUEUES_AT_ONCE or #ahead == QUEUES_AT_ONCE or unseen or (#ahead > 0 and left == 0)
  or #over == QUEUES_AT_ONCE then
  counts[5] = 1
end
ring()
counts[6], counts[7] = gained, ended
return counts
