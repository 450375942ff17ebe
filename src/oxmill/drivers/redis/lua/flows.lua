-- Guarantee: published flows that match, newest first, each on one page only. Writes nothing.
-- KEYS: FLOWS, COUNTS, RETIRED and the shelves.
-- ARGV: 3 {name, status, words of fields} in msgpack ('' for any), 4 the number to go on below ('' from the
-- newest), 5 how many, 6… ids, if only these may match.
-- Result: {now, more, where to go on or '', {flow…}}; a flow is {id, record, {counts by state}, {fields of
-- its state and values in turn}}.
local LOOKED_AT = 500
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

local function tell_flow(id, packed)
  local counts = {struct.unpack('>i4i4i4i4i4i4i4', redis.call('HGET', COUNTS, id) or string.rep('\0', 28))}
  counts[8] = nil -- where the reading ended
  return {id, packed, counts, redis.call('HGETALL', ROOT .. ':state:' .. id)}
end

local cards, edge = (#ARGV > 5 and cards_by_ids or cards_on_shelf)()
local told, ids = {}, {}
for i, card in ipairs(cards) do ids[i] = string.sub(card, NUMBER_SIZE + 1) end
for i, packed in ipairs(#ids > 0 and hmget(FLOWS, ids) or {}) do
  if packed and matches(cmsgpack.unpack(packed)) then
    if #told == limit then return {now, 1, '', told} end
    told[#told + 1] = tell_flow(ids[i], packed)
  end
end
return {now, 0, edge, told}
