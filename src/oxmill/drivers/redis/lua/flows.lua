-- Guarantee: published flows that match, newest first, each on one page only. Writes nothing.
-- KEYS: FLOWS, COUNTS, STAGES, QUEUES, the shelves, and the sets of flows and queues.
-- ARGV: 3 {name, status, words of fields} in msgpack ('' for any), 4 the number to go on below ('' from the
-- newest), 5 how many, 6… ids, if only these may match.
-- Result: {now, more, where to go on or '', {flow…}}; a flow is {id, record, {counts by state}, {fields of
-- its state and values in turn}}.
local LOOKED_AT, COUNTS_FORM, NONE = 500, '>i4i4i4i4i4i4i4', string.rep('\0', 28)
-- What a page may cost, by jobs looked at; a command costs as much as some. Who wants more asks again.
local ENOUGH, CALL, spent = 10000, 10, 0
local wanted, below, limit = cmsgpack.unpack(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local name, status, words = wanted[1], wanted[2], wanted[3]

local function cards_by_ids()
  local cards, once, ids = {}, {}, {unpack(ARGV, 6)}
  for i, packed in ipairs(hmget(FLOWS, ids)) do
    if packed and not once[ids[i]] then
      once[ids[i]] = true
      local card = struct.pack(NUMBER, cmsgpack.unpack(packed)[1]) .. ids[i]
      if below == '' or card < below then cards[#cards + 1] = card end
    end
  end
  table.sort(cards, function(a, b) return a > b end)
  return cards, ''
end

local function cards_on_shelf()
  local word = words[1] and 'field:' .. words[1] .. '=' .. words[2] or name ~= '' and 'name=' .. name
    or status ~= '' and 'status=' .. status or 'all'
  local top = below == '' and '+' or '(' .. below
  local cards = redis.call('ZREVRANGEBYLEX', ROOT .. ':shelf:' .. word, top, '-', 'LIMIT', 0, LOOKED_AT)
  return cards, #cards == LOOKED_AT and string.sub(cards[#cards], 1, NUMBER_SIZE) or ''
end

local function has_pair(there, field, value)
  for i = 1, #there, 2 do
    if there[i] == field and there[i + 1] == value then return true end
  end
  return false
end

local function has_fields(there)
  for i = 1, #words, 2 do
    if not has_pair(there, words[i], words[i + 1]) then return false end
  end
  return true
end

local function matches(f)
  local now_is = f[9] == 0 and 'running' or f[8] == 1 and 'failed' or 'succeeded'
  return f[5] == 1 and (name == '' or f[2] == name) and (status == '' or now_is == status) and has_fields(f[11])
end

-- The leases of queues in which anything runs, and how many there are.
local busy
local function busy_queues()
  if busy then return busy end
  busy = {}
  for _, queue in ipairs(redis.call('SMEMBERS', QUEUES)) do
    local key = ROOT .. ':leases:' .. queue
    local size = redis.call('ZCARD', key)
    if size > 0 then busy[#busy + 1] = {key = key, size = size} end
  end
  return busy
end

local function running_in(members, size)
  local running = 0
  for _, leases in ipairs(busy_queues()) do
    running = running + #redis.call('ZINTER', 2, members, leases.key)
    spent = spent + CALL + math.min(size, leases.size)
  end
  return running
end

-- Live jobs of stages that are not published: they do not count for their flow.
local function staged_in(id)
  local live, names = 0, redis.call('ZRANGE', ROOT .. ':stages:' .. id, 0, -1)
  for _, packed in ipairs(#names > 0 and hmget(STAGES, names) or {}) do
    local stage = packed and cmsgpack.unpack(packed)
    if stage and stage[3] == 0 then live = live + stage[4] end
  end
  return live
end

-- How many jobs of a flow are in each state: kin.lua counts but those that wait, run or have succeeded.
local function counts_of(id, live)
  local held, scheduled, _, _, _, failed, cancelled = struct.unpack(COUNTS_FORM, redis.call('HGET', COUNTS, id) or NONE)
  local members = ROOT .. ':members:' .. id
  local all, live_too = redis.call('ZCARD', members), live + staged_in(id)
  local under_way = live_too - held - scheduled
  local running = under_way > 0 and running_in(members, all) or 0
  return {held, scheduled, under_way - running, running, all - live_too - failed - cancelled, failed, cancelled}
end

local function tell_flow(id, packed, f)
  spent = spent + CALL
  return {id, packed, counts_of(id, f[6]), redis.call('HGETALL', ROOT .. ':state:' .. id)}
end

local cards, edge = (#ARGV > 5 and cards_by_ids or cards_on_shelf)()
local told, ids = {}, {}
for i, card in ipairs(cards) do ids[i] = string.sub(card, NUMBER_SIZE + 1) end
for i, packed in ipairs(#ids > 0 and hmget(FLOWS, ids) or {}) do
  local f = packed and cmsgpack.unpack(packed)
  if f and matches(f) then
    if #told == limit or spent > ENOUGH then return {now, 1, '', told} end
    told[#told + 1] = tell_flow(ids[i], packed, f)
  end
end
return {now, 0, edge, told}
