-- Shared: which jobs a filter matches, found by id, by flow, by an indexed field, or by arrival.
-- Guarantee: bounded work per call; `next` goes on where it stopped.
-- KEYS: PAGES, JOBS, IDS.
-- ARGV: 3 the filter in msgpack, then ids, each after its length; 4 where to go on ('' from the start), 5 how many.
-- Result: the functions below. The filter's parts: queues, tasks, states, group, tag, fields
-- (name, value, …), flow, since, before.
local candidates
do
  local PAGES_AT_ONCE, ENTRIES_AT_ONCE = 2, 500
  local ids_at, filter = cmsgpack.unpack_one(ARGV[3], 0)
  local wanted_ids
  while ids_at >= 0 and ids_at < #ARGV[3] do
    local size = string.byte(ARGV[3], ids_at + 1)
    wanted_ids = wanted_ids or {}
    wanted_ids[#wanted_ids + 1] = string.sub(ARGV[3], ids_at + 2, ids_at + 1 + size)
    ids_at = ids_at + 1 + size
  end

  local function among(list)
    if not list or #list == 0 then return nil end
    local set = {}
    for _, item in ipairs(list) do set[item] = true end
    return set
  end

  local queues, tasks, states = among(filter.queues), among(filter.tasks), among(filter.states)

  local function has(list, wanted)
    for _, item in ipairs(list or {}) do
      if item == wanted then return true end
    end
    return false
  end

  local function has_pair(there, name, value)
    for i = 1, #there, 2 do
      if there[i] == name and there[i + 1] == value then return true end
    end
    return false
  end

  local function has_fields(there)
    for i = 1, #filter.fields, 2 do
      if not has_pair(there or {}, filter.fields[i], filter.fields[i + 1]) then return false end
    end
    return true
  end

  local function matches(job)
    local s = job.s
    if queues and not queues[s[QUEUE]] then return false end
    if states and not states[s[STATE]] then return false end
    if filter.flow and s[FLOW] ~= filter.flow then return false end
    if filter.since and s[ENQUEUED] < filter.since then return false end
    if filter.before and s[ENQUEUED] >= filter.before then return false end
    if not (tasks or filter.group or filter.tag or filter.fields) then return true end
    local parts = about(job)
    return (not tasks or tasks[parts[1]])
      and (not filter.group or parts[5] == filter.group)
      and (not filter.tag or has(parts[6], filter.tag))
      and (not filter.fields or has_fields(parts[7]))
  end

  local function beyond(seq, cursor, down)
    return cursor == '' or (down and seq < cursor) or (not down and seq > cursor)
  end

  local function seqs_by_ids(cursor, down)
    local seqs, once = {}, {}
    for _, seq in ipairs(hmget(IDS, wanted_ids)) do
      if seq and not once[seq] and beyond(seq, cursor, down) then
        once[seq] = true
        seqs[#seqs + 1] = seq
      end
    end
    table.sort(seqs, function(a, b) if down then return a > b end return a < b end)
    return seqs, ''
  end

  local function seqs_by_index(cursor, down)
    local key = filter.flow and ROOT .. ':members:' .. filter.flow or field_of(filter.fields[1], filter.fields[2])
    local seqs
    if down then
      local top = cursor == '' and '+' or '(' .. cursor
      seqs = redis.call('ZREVRANGEBYLEX', key, top, '-', 'LIMIT', 0, ENTRIES_AT_ONCE)
    else
      local bottom = cursor == '' and '-' or '(' .. cursor
      seqs = redis.call('ZRANGEBYLEX', key, bottom, '+', 'LIMIT', 0, ENTRIES_AT_ONCE)
    end
    return seqs, #seqs == ENTRIES_AT_ONCE and seqs[#seqs] or ''
  end

  local function seqs_by_arrival(cursor, down)
    local numbers
    if down then
      local top = cursor == '' and '+inf' or page_of(cursor)
      numbers = redis.call('ZREVRANGEBYSCORE', PAGES, top, '-inf', 'LIMIT', 0, PAGES_AT_ONCE)
    else
      local bottom = cursor == '' and '-inf' or page_of(cursor)
      numbers = redis.call('ZRANGEBYSCORE', PAGES, bottom, '+inf', 'LIMIT', 0, PAGES_AT_ONCE)
    end
    local seqs, edge = {}, cursor
    for _, number in ipairs(numbers) do
      local first, last, step = number * PAGE, number * PAGE + PAGE - 1, 1
      if down then first, last, step = last, first, -1 end
      for each = first, last, step do
        local seq = struct.pack(NUMBER, each)
        if beyond(seq, cursor, down) then seqs[#seqs + 1] = seq end
      end
      edge = struct.pack(NUMBER, last)
    end
    return seqs, #numbers == PAGES_AT_ONCE and edge or ''
  end

  -- Up to `limit` matching jobs that fit, whether another follows among those looked at, and where
  -- to go on: behind the last of them, or behind what was looked at; '' at the end.
  candidates = function(limit, down, fit)
    local indexed = filter.flow or filter.fields
    local source = wanted_ids and seqs_by_ids or indexed and seqs_by_index or seqs_by_arrival
    local seqs, edge = source(ARGV[4], down)
    load_all(seqs)
    local found = {}
    for _, seq in ipairs(seqs) do
      local job = load(seq)
      if job and matches(job) and (not fit or fit(job)) then
        if #found == limit then return found, true, limit > 0 and found[limit].seq or ARGV[4] end
        found[#found + 1] = job
      end
    end
    return found, false, edge
  end
end

local function ids_of(found)
  local ids = {}
  for i, job in ipairs(found) do ids[i] = job.id end
  return ids
end
