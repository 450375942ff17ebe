-- Shared by the short ways of claim.lua: where to claim, and how a fresh record becomes a leased one.
-- Guarantee: looks only; what they take is as claim.lua would give it.
-- KEYS: those of keys.py.
-- ARGV: as claim.lua.
-- Result: `short`: `queue`, the only one that has jobs waiting, if no moment has come and no rule is set;
-- `gated` if it has groups or gates; `leased(record)`, the record of a job that starts for the first time and
-- what its holder is told, nothing if the job is another; `count_flows()`, to be called once these are written.
local short = {}
do
  -- A fresh standing is an array of 4 to 8: state, queue, priority, time of enqueue, and perhaps
  -- due, attempts, crashes and retention. What a lease adds is the same for all of them.
  local MOST, WAITING = 8, 3
  local LACKING = {0, '', 0, 0, 0, 20, 3, -1, 0, '', 0, -1, '', 0, 1, 0, 0}
  local FLAGS = {'pause:queue:', 'block:queue:', 'gated:queue:'}
  local lease, additions, started_in = tonumber(ARGV[3]), {}, {}

  local function look()
    local found, flags = nil, {'scoped'}
    local moments = redis.call('ZMSCORE', MOMENTS, unpack(ARGV, 8))
    for i = 8, #ARGV do
      local moment = moments[i - 7]
      if moment and tonumber(moment) <= now then return nil end
      for _, flag in ipairs(FLAGS) do flags[#flags + 1] = flag .. ARGV[i] end
      if redis.call('ZCARD', ROOT .. ':line:' .. ARGV[i]) > 0 then
        if found then return nil end
        found = ARGV[i]
      end
    end
    local set, gated = redis.call('HMGET', RULES, unpack(flags)), nil
    if set[1] then return nil end
    for i = 8, #ARGV do
      local at = 3 * (i - 8) + 2
      if set[at] or set[at + 1] then return nil end
      if set[at + 2] then
        if gated or (found and found ~= ARGV[i]) then return nil end
        gated = ARGV[i]
      end
    end
    if gated and found and found ~= gated then return nil end
    return gated or found or ARGV[8], gated
  end

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

  local function framed(blob, id_size, size, about, standing)
    return struct.pack('>BI3I3', id_size, #standing, about) .. string.sub(blob, 8, 7 + id_size) .. standing
      .. string.sub(blob, 8 + id_size + size)
  end

  -- Gives the function for jobs of flows: the standing of one that starts for the first time, and its place
  -- in it from the flow on.
  local function flow_jobs()
    local PLACE_KEY, PLACE_ASIDE, PLACE_FLOW, PLACE_READS = 10, 13, 30, 33
    local NUMBER_BYTES = {[204] = 2, [205] = 3, [206] = 5, [207] = 9, [208] = 2, [209] = 3, [210] = 5, [211] = 9}
    -- In a fresh one, what lies between the retention and the flow is known, and so is what becomes of it.
    local FRESH = '\0\160\0\255\160\0\0\0\0\160\160\0\0\0\0\160\0\0\0\160\0'
    local started, names_in = {'\0\160\0\255\160\0\1\0\0'}, {}
    for _, part in ipairs({ARGV[5], ARGV[4], now, lease, now + lease}) do
      started[#started + 1] = cmsgpack.pack(part)
    end
    started = table.concat(started) .. '\0\160\0\0\0\160\0'

    local function cut(blob, start, size)
      local kind, length = string.byte(blob, start + 5, start + 6)
      local at = kind == 217 and start + 7 + length or start + 6 + kind - 160
      for _ = 3, MOST do at = at + (NUMBER_BYTES[string.byte(blob, at)] or 1) end
      if string.find(blob, FRESH, at, true) ~= at then return nil end
      local flow_at, reads = at + #FRESH, ''
      local next_at, flow = cmsgpack.unpack_one(blob, flow_at - 1)
      if string.byte(blob, start + 3) >= PLACE_READS then
        next_at = cmsgpack.unpack_one(blob, next_at)
        next_at = cmsgpack.unpack_one(blob, next_at)
        next_at, reads = cmsgpack.unpack_one(blob, next_at)
      end
      return string.sub(blob, start + 1, start + 3) .. '\4' .. string.sub(blob, start + 5, at - 1) .. started
        .. string.sub(blob, flow_at, start + size), flow, reads
    end

    -- A job that has waited for others has a place in line, and what it was after stands aside.
    local function redo(blob, start)
      local _, s = cmsgpack.unpack_one(blob, start)
      if s[15] ~= 0 or s[9] ~= 0 or s[PLACE_KEY] ~= '' or string.find(s[PLACE_ASIDE], '[^a]') then return nil end
      s[1], s[15], s[18], s[19], s[28] = 4, 1, ARGV[5], ARGV[4], ''
      s[20], s[21], s[22] = now, lease, now + lease
      return cmsgpack.pack(s), s[PLACE_FLOW], s[PLACE_READS] or ''
    end

    local function fields_read(flow, reads)
      if not names_in[reads] then
        local names = {}
        for name in string.gmatch(string.sub(reads, 2), '[^\31]+') do names[#names + 1] = name end
        names_in[reads] = names
      end
      if #names_in[reads] == 0 then return {} end
      return redis.call('HMGET', ROOT .. ':state:' .. flow, unpack(names_in[reads]))
    end

    return function(blob, id_size, size, about)
      local start = 7 + id_size
      local standing, flow, reads = cut(blob, start, size)
      if not standing then standing, flow, reads = redo(blob, start) end
      if not standing or flow == '' then return nil end
      started_in[flow] = (started_in[flow] or 0) + 1
      local record = framed(blob, id_size, size, about, standing)
      return record, {record, false, false, false, unpack(fields_read(flow, reads))}
    end
  end

  -- How many jobs of a flow wait and run.
  function short.count_flows()
    local fields, changes, puts = {}, {}, {}
    for flow, count in pairs(started_in) do
      fields[#fields + 1], fields[#fields + 2] = 'flow:3:' .. flow, 'flow:4:' .. flow
      changes[#changes + 1], changes[#changes + 2] = -count, count
    end
    if #fields == 0 then return end
    for i, value in ipairs(redis.call('HMGET', TALLIES, unpack(fields))) do
      puts[2 * i - 1], puts[2 * i] = fields[i], string.format('%d', tonumber(value or 0) + changes[i])
    end
    redis.call('HSET', TALLIES, unpack(puts))
  end

  local of_flow
  function short.leased(blob)
    local id_size, size, about = struct.unpack('>BI3I3', blob)
    local start = 7 + id_size
    local kind, state, places = string.byte(blob, start + 1, start + 3)
    if kind == 220 and places >= 30 and string.byte(blob, start + 4) == WAITING then
      of_flow = of_flow or flow_jobs()
      return of_flow(blob, id_size, size, about)
    end
    local count = kind - 144
    if count < 4 or count > MOST or state ~= WAITING then return nil end
    local added = addition(count)
    local record = struct.pack('>BI3I3', id_size, size + 2 + #added, about)
      .. string.sub(blob, 8, start) .. '\220\0\22\4' .. string.sub(blob, start + 3, start + size)
      .. added .. string.sub(blob, start + size + 1)
    return record, record
  end

  -- Of a record that `leased` gave.
  function short.priority(record)
    local id_size, size = struct.unpack('>BI3', record)
    return cmsgpack.unpack(string.sub(record, 8 + id_size, 7 + id_size + size))[3]
  end

  if #ARGV >= 8 then short.queue, short.gated = look() end
end
