-- Shared: the short way of settle.lua for jobs of flows that end as planned: nobody waits for them, and they
-- hand over to at most one next step each, which is new and may start at once.
-- Guarantee: as settle.lua. Declines, having written nothing, by giving nothing.
-- KEYS: those of keys.py.
-- ARGV: as settle.lua.
-- Result: `flow_way()`: `take` one job, `ready` once all are taken, then `write`; `over` are the flows that
-- ended by it, as pack_id in record.py writes their ids.
local function flow_way()
  local ASIDE, LEASED, FINISHED, OUTCOME, MARK, ENDED_AT, REASON = 13, 22, 23, 24, 25, 27, 28
  local FLOW, STAGE, RESUME, WAIT, RUNNING, SUCCEEDED, PAGE = 30, 32, 34, 35, 4, 5, 256
  local FLOW_DAY, NUMBER = 86400000000, '>I6'
  -- Of a first run, as claim_short.lua writes it: what lies between the retention and the nonce, but for
  -- the letters aside, and between the lease and the flow.
  local BEFORE_ASIDE, AFTER_ASIDE, NOT_ENDED = '\0\160\0\255', '\0\1\0\0', '\0\160\0\0\0\160\0'
  local ENDED_NOW = '\0' .. cmsgpack.pack(now) .. cmsgpack.pack('complete') .. '\1\0' .. cmsgpack.pack(now) .. '\160\0'
  local NUMBER_BYTES = {[204] = 2, [205] = 3, [206] = 5, [207] = 9, [208] = 2, [209] = 3, [210] = 5, [211] = 9}
  local way = {ids = {}, over = {}, next = {}, merges = {}, live = {}, counts = {}, fields = {}, changes = {}}
  local nonces, once = {}, {}

  -- Where the number or text behind this one starts.
  local function past(blob, at)
    local kind, size = string.byte(blob, at, at + 1)
    if kind < 128 or kind > 223 then return at + 1 end
    if kind < 192 then return at + kind - 159 end
    if kind == 217 then return at + 2 + size end
    if NUMBER_BYTES[kind] then return at + NUMBER_BYTES[kind] end
    return at + 3 + 256 * size + string.byte(blob, at + 2)
  end

  local function text_at(blob, at)
    local _, text = cmsgpack.unpack_one(blob, at - 1)
    return text
  end

  local function expected_of(nonce)
    if not nonces[nonce] then
      nonces[nonce] = BEFORE_ASIDE .. '\160' .. AFTER_ASIDE .. cmsgpack.pack(nonce)
    end
    return nonces[nonce]
  end

  -- A first run ends: its standing is cut and put together, not unpacked. Gives queue, flow and standing.
  local function cut(blob, start, stop, nonce, letter)
    local count, at = string.byte(blob, start + 3), past(blob, start + 5)
    for _ = 3, 8 do at = past(blob, at) end
    local expected = expected_of(nonce)
    if string.find(blob, expected, at, true) ~= at then return nil end
    local aside_at = at + #BEFORE_ASIDE
    local leased_at = past(blob, past(blob, past(blob, at + #expected)))
    at = past(blob, leased_at)
    if string.find(blob, NOT_ENDED, at, true) ~= at then return nil end
    local flow_at = at + #NOT_ENDED
    if count >= STAGE and string.byte(blob, past(blob, past(blob, flow_at))) ~= 160 then return nil end
    return text_at(blob, start + 5), text_at(blob, flow_at), string.sub(blob, start + 1, start + 3) .. '\5'
      .. string.sub(blob, start + 5, aside_at - 1) .. (letter == '' and '\160' or '\161') .. letter
      .. string.sub(blob, aside_at + 1, leased_at - 1) .. ENDED_NOW .. string.sub(blob, flow_at, stop)
  end

  -- The same of any other run.
  local function redo(blob, start, attempt, nonce, letter)
    local _, s = cmsgpack.unpack_one(blob, start)
    if s[15] ~= tonumber(attempt) or s[18] ~= nonce or s[10] ~= '' or (s[STAGE] or '') ~= ''
      or (s[WAIT] or '') ~= '' or string.find(s[ASIDE], '[rn]') then
      return nil
    end
    s[1], s[LEASED], s[FINISHED], s[OUTCOME], s[MARK] = SUCCEEDED, 0, now, 'complete', 1
    s[ENDED_AT], s[REASON], s[ASIDE] = now, '', s[ASIDE] .. letter
    return s[2], s[FLOW], cmsgpack.pack(s)
  end

  local function count(flow, state, change)
    local field = 'flow:' .. state .. ':' .. flow
    local place = way.counts[field]
    if not place then
      place = #way.fields + 1
      way.counts[field], way.fields[place], way.changes[place] = place, field, 0
    end
    way.changes[place] = way.changes[place] + change
  end

  -- What a completion hands on, from this argument: fields and perhaps a next step.
  local function hand_on(flow, at)
    local fields, steps = string.byte(ARGV[at], 1, 2)
    if fields > 0 then way.merges[#way.merges + 1] = {flow, at + 1, at + 2 * fields} end
    at = at + 1 + 2 * fields
    if steps == 0 then return true end
    local id = string.sub(ARGV[at + 3], 8, 7 + string.byte(ARGV[at + 3]))
    if ARGV[at] ~= flow or once[id] then return false end
    once[id] = true
    way.next[#way.next + 1] = {id = id, at = at, flow = flow}
    count(flow, 3, 1)
    way.live[flow] = way.live[flow] + 1
    return true
  end

  -- One running job; `step_at` is the argument of its step, if it may have one. Gives its queue and how its
  -- standing ends up.
  function way.take(id, blob, start, stop, item, letter, step_at)
    local kind, _, places, state = string.byte(blob, start + 1, start + 4)
    if kind ~= 220 or places < FLOW or places > WAIT or state ~= RUNNING then return nil end
    local queue, flow, standing
    if item.attempt == '1' and places <= RESUME then queue, flow, standing = cut(blob, start, stop, item.nonce, letter) end
    if not queue then queue, flow, standing = redo(blob, start, item.attempt, item.nonce, letter) end
    if not queue or flow == '' then return nil end
    way.ids[#way.ids + 1] = id
    way.live[flow] = (way.live[flow] or 0) - 1
    count(flow, RUNNING, -1)
    count(flow, SUCCEEDED, 1)
    if step_at and ARGV[step_at] ~= '' and not hand_on(flow, step_at) then return nil end
    return queue, standing
  end

  -- The flows in which fewer or more jobs live now; nothing if one is not as it should be.
  local function flows_changed()
    local names, records = {}, {}
    for flow, change in pairs(way.live) do
      if change ~= 0 then names[#names + 1] = flow end
    end
    if #names == 0 then return records end
    for i, packed in ipairs(redis.call('HMGET', FLOWS, unpack(names))) do
      local f = packed and cmsgpack.unpack(packed)
      if not f or f[5] ~= 1 or f[9] ~= 0 then return nil end
      f[6] = f[6] + way.live[names[i]]
      records[names[i]] = f
    end
    return records
  end

  -- Whether nobody waits for these jobs, no next step is there yet, and all flows are known.
  function way.ready()
    for _, below in ipairs(redis.call('HMGET', DOWNS, unpack(way.ids))) do
      if below and struct.unpack('>I4', below) > 0 then return false end
    end
    local ids, asked = {}, {}
    for i, new in ipairs(way.next) do
      ids[i] = new.id
      -- A key of another type must stop the settlement here, before it writes.
      local queue = ARGV[new.at + 1]
      if not asked[queue] then asked[queue] = redis.call('ZCARD', ROOT .. ':line:' .. queue) end
    end
    for _, there in ipairs(#ids > 0 and redis.call('HMGET', IDS, unpack(ids)) or {}) do
      if there then return false end
    end
    way.records = flows_changed()
    return way.records ~= nil
  end

  local function id_of(text)
    if #text ~= 32 or string.find(text, '[^0-9a-f]') then return text end
    return '\1' .. string.gsub(text, '..', function(byte) return string.char(tonumber(byte, 16)) end)
  end

  -- As book.lua does: flows without live jobs end.
  local function write_flows()
    local puts, gone, retired, shelves = {}, {}, {}, {}
    for flow, f in pairs(way.records) do
      if f[6] == 0 then
        local card, failed = struct.pack(NUMBER, f[1]) .. flow, f[7] == 1 or f[10] > 0
        local keep = f[4] >= 0 and f[4] or failed and 30 * FLOW_DAY or FLOW_DAY
        f[8], f[9] = failed and 1 or 0, now
        local shelf = failed and 'failed' or 'succeeded'
        if not shelves[shelf] then shelves[shelf] = {} end
        table.insert(shelves[shelf], 0)
        table.insert(shelves[shelf], card)
        gone[#gone + 1], way.over[#way.over + 1] = card, id_of(flow)
        retired[#retired + 1], retired[#retired + 2] = string.format('%d', now + keep), card
      end
      puts[#puts + 1], puts[#puts + 2] = flow, cmsgpack.pack(f)
    end
    if #puts > 0 then redis.call('HSET', FLOWS, unpack(puts)) end
    if #gone == 0 then return end
    redis.call('ZREM', ROOT .. ':shelf:status=running', unpack(gone))
    redis.call('ZADD', RETIRED, unpack(retired))
    for shelf, cards in pairs(shelves) do redis.call('ZADD', ROOT .. ':shelf:status=' .. shelf, unpack(cards)) end
  end

  local function write_counts()
    local fields, puts = way.fields, {}
    for i, value in ipairs(redis.call('HMGET', TALLIES, unpack(fields))) do
      puts[2 * i - 1], puts[2 * i] = fields[i], string.format('%d', tonumber(value or 0) + way.changes[i])
    end
    redis.call('HSET', TALLIES, unpack(puts))
  end

  local function fill_pages(first, last)
    for page = math.floor(first / PAGE), math.floor(last / PAGE) do
      local filled = math.min(page * PAGE + PAGE - 1, last) - math.max(page * PAGE, first) + 1
      if redis.call('HINCRBY', FILLED, page, filled) == filled then redis.call('ZADD', PAGES, page, page) end
    end
  end

  local function write_next()
    local ids, records, lines, names = {}, {}, {}, {}
    local last, enqueued = redis.call('HINCRBY', ROOT, 'drawn', #way.next), struct.pack('>I8', now)
    for i, new in ipairs(way.next) do
      local at, seq = new.at, struct.pack(NUMBER, last - #way.next + i)
      local queue = ARGV[at + 1]
      local line = lines[queue]
      if not line then
        line = {}
        lines[queue], names[#names + 1] = line, queue
      end
      line[#line + 1], line[#line + 2] = ARGV[at + 2], seq
      ids[2 * i - 1], ids[2 * i] = new.id, seq
      records[2 * i - 1], records[2 * i] = seq, ARGV[at + 3] .. enqueued .. ARGV[at + 4]
      redis.call('ZADD', ROOT .. ':members:' .. new.flow, 0, seq)
    end
    for queue, line in pairs(lines) do redis.call('ZADD', ROOT .. ':line:' .. queue, unpack(line)) end
    redis.call('SADD', QUEUES, unpack(names))
    fill_pages(last - #way.next + 1, last)
    redis.call('HSET', JOBS, unpack(records))
    redis.call('HSET', IDS, unpack(ids))
    table.sort(names)
    return names
  end

  -- Gives the queues in which next steps wait.
  function way.write()
    for _, merge in ipairs(way.merges) do
      redis.call('HSET', ROOT .. ':state:' .. merge[1], unpack(ARGV, merge[2], merge[3]))
    end
    write_flows()
    write_counts()
    return #way.next > 0 and write_next() or {}
  end

  return way
end
