-- Shared: what the passing of time does to jobs.
-- Guarantee: bounded work, oldest first, over any number of queues; a queue in which no moment has
-- come costs one look at its entry in MOMENTS.
-- KEYS: MOMENTS, GRANTS.
-- ARGV: none.
-- Result: the functions below.
local first_of
do
  local function refill(source, size)
    local entries = redis.call('ZRANGE', source.key, source.read, source.read + size - 1, 'WITHSCORES')
    source.entries, source.at = entries, 1
    source.read = source.read + #entries / 2
    local seqs = {}
    for i = 1, #entries, 2 do seqs[#seqs + 1] = seq_of(entries[i]) end
    load_all(seqs)
  end

  local function before(a, b)
    local a_score, b_score = tonumber(a.entries[a.at + 1]), tonumber(b.entries[b.at + 1])
    if a_score ~= b_score then return a_score < b_score end
    return a.entries[a.at] < b.entries[b.at]
  end

  -- The first `count` jobs of several sorted sets in one order, none with a score above `top`, none
  -- that `accept` refuses. Also tells whether another would follow. Entries of jobs that are gone are buried.
  first_of = function(keys, count, top, accept)
    local sources, size = {}, math.ceil((count + 1) / math.max(#keys, 1)) + 1
    for _, key in ipairs(keys) do
      local source = {key = key, read = 0}
      refill(source, size)
      if #source.entries > 0 then sources[#sources + 1] = source end
    end
    local found, passed = {}, 0
    while #sources > 0 and passed < 2000 do
      local best = 1
      for i = 2, #sources do
        if before(sources[i], sources[best]) then best = i end
      end
      local source = sources[best]
      if top and tonumber(source.entries[source.at + 1]) > top then return found, false end
      local job = load(seq_of(source.entries[source.at]))
      if job and (not accept or accept(job)) then
        if #found == count then return found, true end
        found[#found + 1] = job
      else
        passed = passed + 1
        if not job then groups.bury(source.key, source.entries[source.at]) end
      end
      source.at = source.at + 2
      if source.at > #source.entries then refill(source, size) end
      if #source.entries == 0 then table.remove(sources, best) end
    end
    return found, false
  end
end

local function keys_for(make, queues)
  local keys = {}
  for i, queue in ipairs(queues) do keys[i] = make(queue) end
  return keys
end

local function too_late(job)
  local s = job.s
  return s[ATTEMPT] == 0 and s[EXPIRES] > 0 and s[EXPIRES] <= now
end

local function idle(job) return job.s[STATE] <= WAITING end

-- Lapsed leases, then due jobs, then expired ones, `limit` each. Gives the counts, and whether
-- there is more.
local function ripen(queues, limit)
  local lapsed, more_lapsed = first_of(keys_for(leases_of, queues), limit, now)
  local poisoned = 0
  for _, job in ipairs(lapsed) do
    lapse(job)
    if job.s[STATE] == FAILED then poisoned = poisoned + 1 end
  end
  local due, more_due = first_of(keys_for(due_of, queues), limit, now)
  for _, job in ipairs(due) do line_up(job, due_at(job)) end
  local late, more_late = first_of(keys_for(expiring_of, queues), limit, now, idle)
  for _, job in ipairs(late) do finish(job, CANCELLED, 'expired') end
  local more = more_lapsed or more_late or more_due or (limit > 0 and #due == limit)
  return {#lapsed, poisoned, #due, #late, more and 1 or 0}
end

local function head(key)
  local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  return tonumber(first[2])
end

-- After the flush: MOMENTS says exactly when each of these queues needs a look again.
local function set_moments(queues)
  for _, queue in ipairs(queues) do
    local moment
    for _, make in ipairs({leases_of, due_of, expiring_of}) do
      local first = head(make(queue))
      if first and (not moment or first < moment) then moment = first end
    end
    if moment then
      redis.call('ZADD', MOMENTS, moment, queue)
    else
      redis.call('ZREM', MOMENTS, queue)
    end
  end
end

-- What every claim does first for the queues it names, of which the first `seen` are seen to already: up to
-- `limit` of each kind in each queue, but no further queue once so many jobs were moved, so that no script is
-- long. Gives how many queues are seen to now, and whether there was anything to do.
local function tidy(queues, limit, seen)
  local ripe, moved, before = {}, 0, seen
  if #queues > before then
    local moments = redis.call('ZMSCORE', MOMENTS, unpack(queues, before + 1))
    for i = before + 1, #queues do
      local moment = moments[i - before]
      if moment and tonumber(moment) <= now then
        if #ripe > 0 and moved >= limit then break end
        local counts = ripen({queues[i]}, limit)
        moved = moved + math.max(counts[1] + counts[3] + counts[4], 1)
        ripe[#ripe + 1] = queues[i]
      end
      seen = i
    end
  end
  if #ripe > 0 then
    kin.ripple(limit)
    flush()
    set_moments(ripe)
  end
  return seen, #ripe > 0
end
