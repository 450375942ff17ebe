-- Shared by the short ways of claim.lua: where to claim, and how a fresh record becomes a leased one.
-- Guarantee: looks only; what they take is as claim.lua would give it.
-- KEYS: those of keys.py.
-- ARGV: as claim.lua.
-- Result: `short`: `queue`, the only one that has jobs waiting, if no moment has come and no rule is set;
-- `gated` if it has groups or gates; `leased(record)`, nothing if the job is not fresh.
local short = {}
do
  -- A fresh standing is an array of 4 to 8: state, queue, priority, time of enqueue, and perhaps
  -- due, attempts, crashes and retention. What a lease adds is the same for all of them.
  local MOST, WAITING = 8, 3
  local LACKING = {0, '', 0, 0, 0, 20, 3, -1, 0, '', 0, -1, '', 0, 1, 0, 0}
  local FLAGS = {'pause:queue:', 'block:queue:', 'gated:queue:'}
  local lease, additions = tonumber(ARGV[3]), {}

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

  function short.leased(blob)
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

  if #ARGV >= 8 then short.queue, short.gated = look() end
end
