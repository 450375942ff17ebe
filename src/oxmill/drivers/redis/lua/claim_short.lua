-- Shared by the short ways of claim.lua: where to claim, and how a fresh record becomes a leased one.
-- Guarantee: looks only; what they take is as claim.lua would give it.
-- KEYS: those of keys.py.
-- ARGV: as claim.lua.
-- Result: in `short`, as claim_one.lua has begun it: `queue`, the only one that has jobs waiting, if no moment has
-- come and no rule is set;
-- `gated` if it has groups or gates; `leased(record)`, the record of a job that starts for the first time, nothing
-- if the job is another; `answer`, to which that adds what the holder is told: the record as it was, which
-- is shorter; what the lease adds to it he knows.
do
  local WAITING, byte, sub = 3, string.byte, string.sub
  local FLAGS = {'pause:queue:', 'block:queue:', 'gated:queue:'}
  local lease, answer, told = tonumber(ARGV[3]), short.answer, 2

  local function look()
    local found, flags = nil, {'scoped'}
    local moments = redis.call('ZMSCORE', MOMENTS, unpack(ARGV, 9))
    for i = 9, #ARGV do
      local moment = moments[i - 8]
      if moment and tonumber(moment) <= now then return nil end
      for _, flag in ipairs(FLAGS) do flags[#flags + 1] = flag .. ARGV[i] end
      if redis.call('ZCARD', ROOT .. ':line:' .. ARGV[i]) > 0 then
        if found then return nil end
        found = ARGV[i]
      end
    end
    local set, gated = redis.call('HMGET', RULES, unpack(flags)), nil
    if set[1] then return nil end
    for i = 9, #ARGV do
      local at = 3 * (i - 9) + 2
      if set[at] or set[at + 1] then return nil end
      if set[at + 2] then
        if gated or (found and found ~= ARGV[i]) then return nil end
        gated = ARGV[i]
      end
    end
    if gated and found and found ~= gated then return nil end
    return gated or found or ARGV[9], gated
  end

  -- Gives the function for jobs of flows: the record of one that starts for the first time, and what its holder
  -- is told.
  local function flow_jobs()
    local PLACE_KEY, PLACE_ASIDE, PLACE_FLOW, PLACE_READS = 10, 13, 30, 33
    -- In a fresh one, what lies between the retention and the flow is known, and so is what becomes of it.
    local FRESH = '\0\160\0\255\160\0\0\0\0\160\160\0\0\0\0\160\0\0\0\160\0'
    local call, state_of, started, names_in = redis.call, ROOT .. ':state:', {'\0\160\0\255\160\0\1\0\0'}, {}
    for _, part in ipairs({ARGV[5], ARGV[4], now, lease, now + lease}) do
      started[#started + 1] = cmsgpack.pack(part)
    end
    started = table.concat(started) .. '\0\160\0\0\0\160\0'

    local function names_of(reads)
      if not names_in[reads] then
        local names = {}
        for name in string.gmatch(sub(reads, 2), '[^\31]+') do names[#names + 1] = name end
        names_in[reads] = #names > 0 and names or true
      end
      return names_in[reads]
    end

    local function starting_head(text)
      return byte(text, 4) == WAITING and sub(text, 1, 3) .. '\4' .. sub(text, 5)
    end

    local function starting_middle(text)
      local at = cut.skip(text, 1, 4)
      if string.find(text, FRESH, at, true) ~= at then return nil end
      return sub(text, 1, at - 1) .. started .. sub(text, at + #FRESH)
    end

    -- The fields that are read, if any are.
    local function reading(text, places)
      if places < PLACE_READS then return true end
      local _, reads = cmsgpack.unpack_one(text, cut.skip(text, 1, 2) - 1)
      return names_of(reads)
    end

    -- A job that has waited for others has a place in line, and what it was after stands aside.
    local function redo(blob)
      local id_size, size, about = struct.unpack('>BI3I3', blob)
      local _, s = cmsgpack.unpack_one(blob, 7 + id_size)
      if s[1] ~= WAITING or (s[PLACE_FLOW] or '') == '' then return nil end
      if s[15] ~= 0 or s[9] ~= 0 or s[PLACE_KEY] ~= '' or string.find(s[PLACE_ASIDE], '[^a]') then return nil end
      s[1], s[15], s[18], s[19], s[28] = 4, 1, ARGV[5], ARGV[4], ''
      s[20], s[21], s[22] = now, lease, now + lease
      local standing = cmsgpack.pack(s)
      return struct.pack('>BI3I3', id_size, #standing, about) .. sub(blob, 8, 7 + id_size) .. standing
        .. sub(blob, 8 + id_size + size), s[PLACE_FLOW], names_of(s[PLACE_READS] or '')
    end

    local take = cut.cutter(starting_head, starting_middle, reading)

    return function(blob, sizes)
      local record, flow
      local o, head, middle, names, tail = take(blob, sizes)
      if o then
        local frame, enqueued, from = o.frames[middle], o.enqueued, o.from
        if not frame then
          frame = struct.pack('>BI3I3', o.id_size, o.size + #middle - (from - enqueued - 9), o.about)
          o.frames[middle] = frame
        end
        flow = sub(blob, from, o.over - 1)
        record = frame .. sub(blob, 8, o.start - 1) .. head .. sub(blob, enqueued + 1, enqueued + 8) .. middle
          .. flow .. tail
      else
        record, flow, names = redo(blob)
      end
      if not record or flow == '' then return nil end
      if names ~= true then
        local count = #names
        answer[told + 1], answer[told + 2], told = count, blob, told + 2
        if count == 1 then
          -- Without a list of its own it takes the server less.
          answer[told + 1] = call('HGET', state_of .. flow, names[1])
        else
          local values = call('HMGET', state_of .. flow, unpack(names))
          for i = 1, count do answer[told + i] = values[i] end
        end
        told = told + count
      else
        told = told + 1
        answer[told] = blob
      end
      return record
    end
  end

  local of_flow, of_flows, forms = nil, {}, {}

  function short.leased(blob)
    local frame = sub(blob, 1, 7)
    -- Where jobs of flows had this frame, this is most likely another.
    local record = of_flows[frame] and of_flow(blob, frame)
    if record then return record end
    local form = forms[frame]
    local start = form and form.start or 7 + byte(blob)
    local kind, state, places = byte(blob, start + 1, start + 3)
    if kind == 220 and places >= 30 then
      of_flow, of_flows[frame] = of_flow or flow_jobs(), true
      return of_flow(blob, frame)
    end
    if not form or form.kind ~= kind or state ~= WAITING then
      form = cut.fresh_form(blob)
      if not form then return nil end
      forms[frame] = form
    end
    told = told + 1
    answer[told] = blob
    return cut.fresh_lease(blob, form)
  end

  if #ARGV > 9 then short.queue, short.gated = look() end
end
