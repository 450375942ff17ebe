-- Shared: the groups of a queue: how many of their jobs run, and the lanes in which the others wait.
-- Guarantee: a group's running jobs are counted in the step that starts or stops them; every waiting
-- job stands in a lane that is on record, open or parked; what is parked has a way to open.
-- KEYS: RULES, SETTINGS; the sets of a queue and group are named after ROOT and so lie in its slot.
-- ARGV: none.
-- Result: `groups`, the functions below. A crew is {running, lanes}, a lane {priority, turn, parked in,
-- served of its turn}; a lane is parked in 0 (open), 1 or 2: the two take turns, so that opening all
-- lanes at once is one step: from then on new ones are parked in the other.
local groups = {buried = 0}
do
  -- Names hold no control characters, so this parts any two of them.
  local PART, STATE = '\31', '\30'
  local HEAD, LANE, LANE_SIZE = '>I4', '>i4I6BI2', 13
  local DEFAULT = {86400000000, 30 * 86400000000, 86400000000}
  local crews, changed, parkings, abouts, settings, closings = {}, {}, {}, {}, {}, {}

  function groups.key(kind, queue, part)
    local key = ROOT .. ':' .. kind .. ':' .. queue
    return part and key .. PART .. part or key
  end

  -- An entry of a job that is gone, left by damage from outside: it goes from the set in which it was met.
  -- In lanes and behind gates those that wait are counted.
  function groups.bury(key, member)
    zput(key, member, false)
    local kind, queue = string.match(key, '^:(%a+):(.*)' .. PART, #ROOT + 1)
    if kind == 'lane' or kind == 'aside' then tally('now:3:' .. queue, -1) end
    groups.buried = groups.buried + 1
  end

  -- Of a queue: retention of the three ends, text, then its limits, in the order of steering.py.
  function groups.settings(queue)
    if not settings[queue] then
      local packed = redis.call('HGET', SETTINGS, queue)
      settings[queue] = packed and cmsgpack.unpack(packed) or DEFAULT
    end
    return settings[queue]
  end

  function groups.ordered(queue, group) return group ~= '' and groups.settings(queue)[11] == 1 end

  -- A job's group; empty for none. A description of one part has only a task.
  function groups.of(job)
    if string.byte(job.rest) == 145 then return '' end
    local text = string.sub(job.rest, 1, job.about)
    local group = abouts[text]
    if not group then
      local _, parts = cmsgpack.unpack_one(text, 0)
      group = parts[5] or ''
      abouts[text] = group
    end
    return group
  end

  local function read(packed)
    local crew = {0, {}}
    if not packed then return crew end
    crew[1] = struct.unpack(HEAD, packed)
    for at = 5, #packed, LANE_SIZE do
      local priority, turn, parked, served = struct.unpack(LANE, packed, at)
      crew[2][#crew[2] + 1] = {priority, turn, parked, served}
    end
    return crew
  end

  local function write(crew)
    if crew[1] == 0 and #crew[2] == 0 then return false end
    local parts = {struct.pack(HEAD, crew[1])}
    for _, lane in ipairs(crew[2]) do parts[#parts + 1] = struct.pack(LANE, unpack(lane)) end
    return table.concat(parts)
  end

  function groups.load(queue, names)
    local own, missing = crews[queue], {}
    if not own then own = {}; crews[queue] = own end
    for _, group in ipairs(names) do
      if not own[group] then missing[#missing + 1] = group end
    end
    if #missing == 0 then return end
    for i, packed in ipairs(hmget(groups.key('groups', queue), missing)) do own[missing[i]] = read(packed) end
  end

  function groups.crew(queue, group)
    local own = crews[queue]
    if not own or not own[group] then
      groups.load(queue, {group})
      own = crews[queue]
    end
    return own[group]
  end

  function groups.save(queue, group)
    if not changed[queue] then changed[queue] = {} end
    changed[queue][group] = true
  end

  -- Where lanes are parked now (1 or 2), and whether those in the other are to be opened.
  function groups.parking(queue)
    if not parkings[queue] then
      local packed = redis.call('HGET', groups.key('groups', queue), STATE)
      parkings[queue] = packed and {string.byte(packed, 1, 2)} or {1, 0}
    end
    return parkings[queue]
  end

  function groups.set_parking(queue, into, opening)
    parkings[queue] = {into, opening}
    hput(groups.key('groups', queue), STATE, string.char(into, opening))
  end

  function groups.lane(queue, group, priority)
    for place, lane in ipairs(groups.crew(queue, group)[2]) do
      if lane[1] == priority then return lane, place end
    end
  end

  -- Whether any group has a lane here, open or parked.
  function groups.any(queue)
    local count = -#groups.crew(queue, '')[2]
    for _, key in ipairs({groups.key('lanes', queue), groups.key('parked', queue, '1'), groups.key('parked', queue, '2')}) do
      count = count + redis.call('ZCARD', key)
    end
    return count > 0
  end

  -- The priority tells lanes of one group apart whose turns are the same: a job that was moved made both.
  local function member_of(group, lane)
    return struct.pack(NUMBER, lane[2]) .. group .. '\0' .. struct.pack('>i4', lane[1])
  end

  function groups.named(member) return string.sub(member, NUMBER_SIZE + 1, -6) end

  local function set_of(queue, lane)
    if lane[3] == 0 then return groups.key('lanes', queue) end
    return groups.key('parked', queue, tostring(lane[3]))
  end

  function groups.make(queue, group, priority, turn)
    local lane = {priority, turn, 0, 0}
    local lanes = groups.crew(queue, group)[2]
    lanes[#lanes + 1] = lane
    zput(groups.key('lanes', queue), member_of(group, lane), priority)
    groups.save(queue, group)
    hput(RULES, 'gated:queue:' .. queue, '1')
    return lane
  end

  function groups.drop(queue, group, priority)
    local lane, place = groups.lane(queue, group, priority)
    zput(set_of(queue, lane), member_of(group, lane), false)
    table.remove(groups.crew(queue, group)[2], place)
    groups.save(queue, group)
  end

  -- Put a lane where it belongs: among the open ones or the parked ones, at its turn.
  function groups.place(queue, group, lane, turn, into)
    zput(set_of(queue, lane), member_of(group, lane), false)
    lane[2], lane[3] = turn, into
    zput(set_of(queue, lane), member_of(group, lane), lane[1])
    groups.save(queue, group)
  end

  -- Park a lane; its group may open at a moment, or only when something happens if there is none.
  function groups.park(queue, group, lane, moment)
    groups.place(queue, group, lane, lane[2], groups.parking(queue)[1])
    zput(groups.key('opens', queue), group, moment or false)
  end

  -- Something happened: the next claim looks at the lanes of this group again.
  function groups.open(queue, group)
    local opened = false
    for _, lane in ipairs(groups.crew(queue, group)[2]) do
      if lane[3] ~= 0 then
        groups.place(queue, group, lane, lane[2], 0)
        opened = true
      end
    end
    if opened then zput(groups.key('opens', queue), group, false) end
  end

  function groups.closing_name(queue, group) return 'closed' .. PART .. queue .. (group ~= '' and PART .. group or '') end

  -- Until when it is closed, if that has changed in this step: the store learns of it at the end.
  function groups.new_closing(name) return closings[name] end

  local function closed_until(name)
    if not closings[name] then closings[name] = tonumber(redis.call('ZSCORE', METERS, name) or 0) end
    return closings[name]
  end

  -- Keep a group in its queue (or the queue, if the group is empty) closed until then. What is closed
  -- already stays so for longer than both, so that it does not open when one of those who closed it leaves.
  function groups.close(queue, group, moment)
    local name = groups.closing_name(queue, group)
    local before = closed_until(name)
    closings[name] = before > now and math.max(before, moment) + 1 or moment
    zput(METERS, name, closings[name])
    hput(RULES, 'gated:queue:' .. queue, '1')
  end

  -- A job that was to be tried again then goes, or is due now: its ordered group opens, unless others have
  -- closed it too.
  function groups.reopen(queue, group, moment)
    local name = groups.closing_name(queue, group)
    if closed_until(name) ~= moment then return end
    closings[name] = 0
    zput(METERS, name, false)
    groups.open(queue, group)
  end

  function groups.start(queue, group)
    local crew = groups.crew(queue, group)
    crew[1] = crew[1] + 1
    groups.save(queue, group)
  end

  function groups.stop(queue, group)
    local crew = groups.crew(queue, group)
    crew[1] = crew[1] - 1
    groups.save(queue, group)
    groups.open(queue, group)
  end

  -- Up to `most` lanes of those that all were to open at once, best turn first.
  function groups.drain(queue, most)
    local into, opening = unpack(groups.parking(queue))
    if opening == 0 then return 0 end
    local key = groups.key('parked', queue, tostring(3 - into))
    local members, names = redis.call('ZRANGE', key, 0, most - 1), {}
    for i, member in ipairs(members) do names[i] = groups.named(member) end
    groups.load(queue, names)
    for i, group in ipairs(names) do
      zput(key, members[i], false)
      groups.open(queue, group)
    end
    if #members < most then groups.set_parking(queue, into, 0) end
    return #members
  end

  -- Open every lane of a queue: few at once, many by giving the parked ones another name. False if lanes of
  -- the last time are still on their way; then some more of them are.
  function groups.open_all(queue, few)
    if groups.drain(queue, few) == few then return false end
    local into = groups.parking(queue)[1]
    local key = groups.key('parked', queue, tostring(into))
    if redis.call('ZCARD', key) == 0 then return true end
    groups.set_parking(queue, 3 - into, 1)
    redis.call('UNLINK', groups.key('opens', queue))
    zsets[groups.key('opens', queue)] = nil
    groups.drain(queue, few)
    return true
  end

  flushing.groups = function()
    for queue, names in pairs(changed) do
      local key = groups.key('groups', queue)
      for group in pairs(names) do hput(key, group, write(crews[queue][group])) end
    end
    changed = {}
  end
end
