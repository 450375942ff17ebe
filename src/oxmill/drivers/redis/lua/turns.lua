-- Shared by the two claims: lanes take turns.
-- Guarantee: better priority first, then turns, then place in line, as decision 0060 says; a claim
-- brings back and sets aside a bounded number of jobs, and parks a bounded number of lanes.
-- KEYS: those of keys.py.
-- ARGV: none.
-- Result: `turns`, the functions below. A source is one queue: `turns.peek` tells the job that would
-- come next, `turns.take` gives it out.
local turns = {}
do
  local MOST_PRIORITIES, MOST_PARKED, LANES_AT_ONCE, LOOKED_AT, PASSED = 100, 250, 100, 10, 2000

  -- Whether claims of this queue look at lanes and gates, instead of at the line alone.
  local function gated(queue)
    return groups.settings(queue)[14] == 1 or gates.rule('throttle', 'queue', queue) ~= nil
      or gates.closed_until(queue, '') > now or groups.any(queue)
  end

  -- Jobs set aside behind gates that have opened come back, the best-ranked first. In ordered groups
  -- they always do: there a lane is parked instead.
  local function bring_back(queue, bound)
    local key, ordered = groups.key('gates', queue), groups.settings(queue)[11] == 1
    local names = redis.call('ZRANGEBYSCORE', key, '-inf', ordered and '+inf' or now, 'LIMIT', 0, bound)
    local asides, rooms, left, open = {}, {}, {}, {}
    for _, name in ipairs(names) do
      local gate, stalled = gates.of_rule(name), groups.key('stalled', queue, name)
      local moment = gates.shut(gate)
      open[name], rooms[name] = not moment, moment and 0 or bound
      if moment then zput(key, name, moment < gates.never and moment or '+inf') end
      for _, valve in ipairs(gate.valves) do rooms[name] = math.min(rooms[name], gates.room(valve)) end
      for _, group in ipairs(open[name] and redis.call('ZRANGE', stalled, 0, bound - 1) or {}) do
        groups.open(queue, group)
        zput(stalled, group, false)
      end
      left[name] = redis.call('ZCARD', groups.key('aside', queue, name))
      if left[name] > 0 and (open[name] or ordered) then asides[#asides + 1] = groups.key('aside', queue, name) end
    end
    local back = #asides == 0 and {} or first_of(asides, bound, nil, function(job)
      local name = behind(job)
      if rooms[name] <= 0 and not groups.ordered(queue, groups.of(job)) then return false end
      rooms[name] = rooms[name] - 1
      return true
    end)
    for _, job in ipairs(back) do
      local name = behind(job)
      left[name] = left[name] - 1
      stand_behind(job, false)
    end
    for name, count in pairs(left) do
      if count == 0 then zput(key, name, redis.call('ZCARD', groups.key('stalled', queue, name)) > bound and 0) end
    end
  end

  local function open_due(queue, bound)
    local key = groups.key('opens', queue)
    local due = redis.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, bound)
    groups.load(queue, due)
    for _, group in ipairs(due) do
      groups.open(queue, group)
      zput(key, group, false)
    end
  end

  -- Jobs without a group have a lane per priority too, from the first claim that needs it.
  local function make_plain_lanes(queue)
    local low, made = '-inf', false
    for _ = 1, MOST_PRIORITIES do
      local first = redis.call('ZRANGEBYSCORE', line_of(queue), low, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
      if not first[1] then break end
      local priority = tonumber(first[2])
      if not groups.lane(queue, '', priority) then
        groups.make(queue, '', priority, (struct.unpack(NUMBER, first[1])))
        made = true
      end
      low = '(' .. first[2]
    end
    if made then flush() end
  end

  local function read_on(source, lane)
    local members
    if lane.own then
      local priority = lane.own[1]
      members = redis.call('ZRANGEBYSCORE', lane.key, priority, priority, 'LIMIT', lane.read, lane.chunk)
    else
      members = redis.call('ZRANGE', lane.key, lane.read, lane.read + lane.chunk - 1)
    end
    lane.read, lane.full = lane.read + #members, #members == lane.chunk
    lane.chunk = math.min(lane.chunk * 4, source.wanted + 1)
    local last = #lane.seqs
    for i, member in ipairs(members) do lane.seqs[last + i], lane.members[last + i] = seq_of(member), member end
  end

  -- The next job of a lane that is there and not late; nothing if it has none.
  local function head_of(source, lane)
    while source.passed < PASSED do
      if not lane.seqs[lane.at] and lane.full then
        read_on(source, lane)
        load_all({unpack(lane.seqs, lane.at)})
      end
      local seq = lane.seqs[lane.at]
      if not seq then return nil end
      local job = load(seq)
      if job and not too_late(job) then return job end
      if job then lane.late = true else groups.bury(lane.key, lane.members[lane.at]) end
      lane.at, source.passed = lane.at + 1, source.passed + 1
    end
    lane.late = true -- for all that is known: there may be more behind
  end

  local function gate_of(source, group)
    local gate = source.gates[group]
    if not gate then
      gate = gates.of(source.queue, group, groups.crew(source.queue, group)[1])
      source.gates[group] = gate
    end
    return gate
  end

  -- Read the next open lanes of one priority, and what is known of their groups, in one step each.
  local function refill(source, band)
    local key, size = groups.key('lanes', source.queue), math.min(source.wanted + 1, LANES_AT_ONCE)
    local members = redis.call('ZRANGEBYSCORE', key, band.priority, band.priority, 'LIMIT', band.read, size)
    band.read, band.full = band.read + #members, #members == size
    local names, grouped, meters = {}, {}, {}
    for i, member in ipairs(members) do
      names[i] = groups.named(member)
      if names[i] ~= '' and not source.gates[names[i]] then
        grouped[#grouped + 1] = names[i]
        meters[#meters + 1] = groups.closing_name(source.queue, names[i])
        meters[#meters + 1] = gates.meter_name('rate', source.queue, names[i])
      end
    end
    groups.load(source.queue, names)
    gates.fetch_meters(meters)
    gates.fetch_rules('group', grouped)
    local chunk, heads = #members == 1 and not band.full and source.wanted + 1 or 2, {}
    for _, name in ipairs(names) do
      local lane = {
        group = name, own = groups.lane(source.queue, name, band.priority), seqs = {}, members = {}, at = 1, read = 0,
        key = name == '' and line_of(source.queue) or groups.key('lane', source.queue, name),
        chunk = chunk, full = true,
      }
      band.lanes[#band.lanes + 1] = lane
      if name == '' or not gates.shut(gate_of(source, name)) then
        read_on(source, lane)
        for at = 1, math.max(#lane.seqs - 1, 1) do heads[#heads + 1] = lane.seqs[at] end
      end
    end
    load_all(heads)
  end

  local function step(band)
    if band.lanes[band.at] then band.at = band.at + 1 else band.again_at = band.again_at + 1 end
  end

  local function drop(source, lane)
    groups.drop(source.queue, lane.group, lane.own[1])
    source.ended[lane] = nil
  end

  local function park(source, lane, moment)
    groups.park(source.queue, lane.group, lane.own, moment < gates.never and moment or nil)
    source.parked = source.parked + 1
    if source.parked >= MOST_PARKED then source.claim.cut = true end
  end

  -- Whether a gate of its own keeps the job back: then it is set aside, or its ordered lane parked.
  local function kept_back(source, band, lane, job)
    if not source.claim.scoped then return false end
    local found, latest
    for _, name in ipairs(gates.names_of(job)) do
      local moment = gates.shut(gates.of_rule(name))
      if moment and not found then found, latest = {name, moment}, moment end
      if moment and moment < gates.never and (latest == gates.never or moment > latest) then latest = moment end
    end
    if not found then return false end
    local name, moment = unpack(found)
    if groups.ordered(source.queue, lane.group) then
      park(source, lane, latest)
      zput(groups.key('stalled', source.queue, name), lane.group, 0)
      step(band)
    elseif source.claim.aside == 0 then
      source.claim.cut = true
    else
      source.claim.aside = source.claim.aside - 1
      stand_behind(job, name)
      zput(groups.key('gates', source.queue), name, moment < gates.never and moment or '+inf')
      hput(RULES, 'gated:queue:' .. source.queue, '1')
      lane.at = lane.at + 1
    end
    return true
  end

  -- The job of this priority that would come next, with its lane. Closed lanes are parked on the way,
  -- jobs behind closed gates of their own set aside, empty lanes dropped.
  local function band_head(source, band)
    while not source.claim.cut do
      if not band.lanes[band.at] and band.full then refill(source, band) end
      local lane = band.lanes[band.at] or band.again[band.again_at]
      if not lane then return nil end
      local moment = lane.group ~= '' and gates.shut(gate_of(source, lane.group))
      if moment then
        park(source, lane, moment)
        step(band)
      else
        local job = head_of(source, lane)
        if not job then
          if not lane.late then drop(source, lane) end
          step(band)
        elseif not kept_back(source, band, lane, job) then
          return job, lane
        end
      end
    end
  end

  local function next_band(source, low)
    local first = redis.call('ZRANGEBYSCORE', groups.key('lanes', source.queue), low, '+inf', 'WITHSCORES',
      'LIMIT', 0, 1)
    if not first[2] then return nil end
    return {
      priority = tonumber(first[2]), after = '(' .. first[2], read = 0, full = true, lanes = {}, at = 1,
      again = {}, again_at = 1,
    }
  end

  -- With ageing every priority puts up its next job: what it waited makes it better.
  local function aged_head(source)
    local best, best_score
    for _, band in ipairs(source.bands) do
      local job, lane = band_head(source, band)
      if job then
        local waited = math.max(now - due_at(job), 0)
        local score = band.priority - math.floor(waited / source.ageing)
        if not best or score < best_score then best, best_score = {job, lane, band}, score end
      end
    end
    return best
  end

  -- Without, only the best priority that has one.
  local function ranked_head(source)
    while not source.claim.cut do
      local band = source.bands[1] or next_band(source, source.low)
      if not band then return nil end
      source.bands[1] = band
      local job, lane = band_head(source, band)
      if job then return {job, lane, band} end
      source.low, source.bands[1] = band.after, nil
    end
  end

  function turns.peek(source)
    if source.line then
      local job = head_of(source, source.line)
      source.next = {job, source.line}
    elseif source.claim.cut or gates.shut(source.gate) then
      source.next = nil
    else
      source.next = (source.ageing and aged_head or ranked_head)(source)
    end
    return source.next and source.next[1]
  end

  -- The next job is given out: its gates count it, and its lane may have had its turn.
  function turns.take(source)
    local job, lane, band = unpack(source.next)
    lane.at = lane.at + 1
    if not band then return end
    local queue, group, own = source.queue, lane.group, lane.own
    gates.pass(source.gate)
    if group ~= '' then gates.pass(gate_of(source, group)) end
    if source.claim.scoped then
      for _, name in ipairs(gates.names_of(job)) do gates.pass(gates.of_rule(name)) end
    end
    own[4] = own[4] + 1
    groups.save(queue, group)
    if own[4] >= (source.weights[group] or 1) then
      own[4], source.turn = 0, source.turn + 1
      source.ended[lane] = source.turn
      step(band)
      band.again[#band.again + 1] = lane
    end
    -- It may have been the last one: late jobs behind it keep the lane.
    if not head_of(source, lane) and not lane.late then
      drop(source, lane)
      if own[4] == 0 then band.again[#band.again] = nil else step(band) end
    end
  end

  -- Up to this many jobs, one after the other, each the best of what the queues would give next.
  function turns.choose(sources, most, claim)
    local chosen = {}
    while #chosen < most do
      local best, best_job
      for _, source in ipairs(sources) do
        local job = turns.peek(source)
        if job and (not best or job.s[PRIORITY] < best_job.s[PRIORITY]
          or (job.s[PRIORITY] == best_job.s[PRIORITY] and rank(job) < rank(best_job))) then
          best, best_job = source, job
        end
      end
      if not best or claim.cut then return chosen end
      turns.take(best)
      chosen[#chosen + 1] = best_job
    end
    return chosen
  end

  -- Lanes that had their turn are given a new one, in the order in which they were served.
  function turns.finish(source)
    local lanes = {}
    for lane in pairs(source.ended or {}) do lanes[#lanes + 1] = lane end
    table.sort(lanes, function(a, b) return source.ended[a] < source.ended[b] end)
    for _, lane in ipairs(lanes) do
      groups.place(source.queue, lane.group, lane.own, draw(), lane.own[3])
    end
  end

  -- The jobs of one queue in the order in which they would be given out. `claim` is what all sources
  -- of a claim share: how many jobs may still be set aside, and whether it has to end.
  function turns.source(queue, wanted, bound, claim)
    if gates.flag('gated:queue:' .. queue) then
      bring_back(queue, bound)
      open_due(queue, bound)
      groups.drain(queue, 2 * bound)
      flush()
    end
    local source = {queue = queue, wanted = wanted, passed = 0, claim = claim}
    if not claim.scoped and not gated(queue) then
      source.line = {key = line_of(queue), seqs = {}, members = {}, at = 1, read = 0, chunk = wanted + 1, full = true}
      return source
    end
    make_plain_lanes(queue)
    local settings = groups.settings(queue)
    source.gate = gates.of(queue, '', redis.call('ZCARD', leases_of(queue)))
    source.gates, source.bands, source.ended, source.turn, source.parked = {}, {}, {}, 0, 0
    source.weights, source.low = settings[13] or {}, '-inf'
    source.ageing = (settings[12] or 0) > 0 and settings[12] or nil
    if source.gate.most then source.wanted = math.min(wanted, math.max(source.gate.most - source.gate.used, 1)) end
    for _, valve in ipairs(source.gate.valves) do
      source.wanted = math.min(source.wanted, math.max(gates.room(valve), 1))
    end
    local low = source.low
    while source.ageing and #source.bands < MOST_PRIORITIES do
      local band = next_band(source, low)
      if not band then break end
      source.bands[#source.bands + 1], low = band, band.after
    end
    return source
  end

  -- When the first group opens that is parked until a moment. What its lanes wait for may have moved on.
  local function first_opening(source)
    local key = groups.key('opens', source.queue)
    for _ = 1, LOOKED_AT do
      local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
      if not first[1] then return nil end
      local crew = groups.crew(source.queue, first[1])
      local moment = gates.shut(gates.of(source.queue, first[1], crew[1]))
      if not moment or moment <= tonumber(first[2]) then return tonumber(first[2]) end
      if moment == gates.never then redis.call('ZREM', key, first[1]) else redis.call('ZADD', key, moment, first[1]) end
    end
    return now
  end

  -- When the first gate opens behind which jobs are set aside; now if there are more to bring back.
  local function first_back(source)
    local key = groups.key('gates', source.queue)
    for _ = 1, LOOKED_AT do
      local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
      if not first[1] then return nil end
      if redis.call('ZCARD', groups.key('aside', source.queue, first[1])) > 0 then
        local moment = gates.shut(gates.of_rule(first[1]))
        if not moment then return now end
        if moment <= tonumber(first[2]) then return moment < gates.never and moment or nil end
        redis.call('ZADD', key, moment == gates.never and '+inf' or string.format('%d', moment), first[1])
      elseif redis.call('ZCARD', groups.key('stalled', source.queue, first[1])) > 0 then
        return now
      else
        redis.call('ZREM', key, first[1])
      end
    end
    return now
  end

  -- A lane that was parked until something happens may since have a gate that time opens, if the clock was
  -- stepped back: the first of those at which a group opens, of as many lanes as are looked at at once.
  local function first_reopening(source)
    local granted = tonumber(redis.call('ZSCORE', GRANTS, source.queue) or 0)
    if granted <= now then return nil end
    local first
    for set = 1, 2 do
      local names, key = {}, groups.key('parked', source.queue, tostring(set))
      for i, member in ipairs(redis.call('ZRANGE', key, 0, LANES_AT_ONCE - 1)) do names[i] = groups.named(member) end
      groups.load(source.queue, names)
      for _, group in ipairs(names) do
        local moment = gates.shut(gates.of(source.queue, group, groups.crew(source.queue, group)[1]))
        if moment and moment < gates.never and (not first or moment < first) then first = moment end
      end
    end
    return first
  end

  -- After the flush: when to look again at a queue that could give no more, as far as time alone opens it.
  function turns.moment(source)
    if source.line then return nil end
    if source.claim.cut then return now end
    local moment = gates.shut(source.gate)
    if moment then return moment < gates.never and moment or nil end
    local first
    for _, look in ipairs({first_opening, first_back, first_reopening}) do
      local found = look(source)
      if found and (not first or found < first) then first = found end
    end
    return first
  end

  -- After the flush: claims of a queue that has no gates any more take the short way again.
  function turns.release(source)
    local field = 'gated:queue:' .. source.queue
    if gates.flag(field) and not gated(source.queue) and redis.call('ZCARD', groups.key('gates', source.queue)) == 0 then
      redis.call('HDEL', RULES, field)
    end
  end
end
