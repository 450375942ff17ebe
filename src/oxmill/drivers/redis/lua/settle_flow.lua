-- Shared: the short way of settle.lua for jobs of flows that end as planned: nobody waits for them, and they
-- hand over to at most one next step each, which is new and may start at once.
-- Guarantee: as settle.lua. Declines, having written nothing, by giving nothing.
-- KEYS: those of keys.py.
-- ARGV: as settle.lua.
-- Result: `cut.read_forms` and what reads steps; `flow_way()`: `take` one job, `ready` once all are taken, then `write`; `over` are the flows that
-- ended by it, as pack_id in record.py writes their ids.
do
  local byte, forms = string.byte, nil

  -- What the next steps of this batch share, as settle.lua says. Gives where the items begin.
  function cut.read_forms()
    local at = 5
    forms = {}
    for number = 1, tonumber(ARGV[4]) do
      forms[number] = {queue = ARGV[at], priority = ARGV[at + 1], head = ARGV[at + 2], middle = ARGV[at + 3],
        behind = ARGV[at + 4], about = ARGV[at + 5], payload = ARGV[at + 6], frames = {}}
      at = at + 7
    end
    cut.forms = forms
    return at
  end

  -- Where the item behind this step begins.
  function cut.behind_step(at)
    local fields, form = byte(ARGV[at], 1, 2)
    if not fields then return at + 1 end
    return at + 1 + 2 * fields + (form > 0 and 1 or 0)
  end

  -- The frame of a next step's record.
  function cut.frame_of(form, id, flow_size)
    local key = 1000 * flow_size + #id
    local frame = form.frames[key]
    if not frame then
      frame = struct.pack('>BI3I3', #id, #form.head + 8 + #form.middle + flow_size + #form.behind, #form.about)
      form.frames[key] = frame
    end
    return frame
  end

  -- A next step's record without a flow, up to the time of enqueue and after it.
  function cut.next_record(form, id)
    return cut.frame_of(form, id, 1) .. id .. form.head,
      form.middle .. '\160' .. form.behind .. form.about .. form.payload
  end
end

local function flow_way()
  local ASIDE, LEASED, FINISHED, OUTCOME, MARK, ENDED_AT, REASON = 13, 22, 23, 24, 25, 27, 28
  local FLOW, STAGE, WAIT, WAITING, RUNNING, SUCCEEDED, PAGE = 30, 32, 35, 3, 4, 5, 256
  local FLOW_DAY, NUMBER, sub, byte = 86400000000, '>I6', string.sub, string.byte
  -- Of a first run, as claim_short.lua writes it: what lies between the retention and the nonce, but for
  -- the letters aside, and between the lease and the flow.
  local BEFORE_ASIDE, AFTER_ASIDE, NOT_ENDED = '\0\160\0\255', '\0\1\0\0', '\0\160\0\0\0\160\0'
  local ENDED_NOW = '\0' .. cmsgpack.pack(now) .. cmsgpack.pack('complete') .. '\1\0' .. cmsgpack.pack(now) .. '\160\0'
  local way = {ids = {}, over = {}, next = {}, merges = {}, ended = {}, handed = {}}
  local once = {}

  local function ending_head(text)
    if byte(text, 4) ~= RUNNING then return nil end
    local _, queue = cmsgpack.unpack_one(text, 4)
    return {queue = queue, text = sub(text, 1, 3) .. '\5' .. sub(text, 5)}
  end

  -- Its nonce, and how it ends under each letter.
  local function ending_middle(text)
    local at = cut.skip(text, 1, 4)
    local nonce_at = at + #BEFORE_ASIDE + 1 + #AFTER_ASIDE
    if sub(text, at, nonce_at - 1) ~= BEFORE_ASIDE .. '\160' .. AFTER_ASIDE then return nil end
    local leased_at = cut.skip(text, nonce_at, 4)
    local ends_at = cut.skip(text, leased_at, 1)
    if string.find(text, NOT_ENDED, ends_at, true) ~= ends_at then return nil end
    local _, nonce = cmsgpack.unpack_one(text, nonce_at - 1)
    local before = sub(text, 1, at + #BEFORE_ASIDE - 1)
    local behind = sub(text, at + #BEFORE_ASIDE + 1, leased_at - 1) .. ENDED_NOW .. sub(text, ends_at + #NOT_ENDED)
    return {nonce = nonce, size = #text, header = sub(text, ends_at + #NOT_ENDED), frames = {[''] = {}, n = {}, r = {}},
      [''] = before .. '\160' .. behind, n = before .. '\161n' .. behind, r = before .. '\161r' .. behind}
  end

  -- Not of a stage, and not held for anybody.
  local function ending_end(text, places)
    if places == WAIT or (places >= STAGE and byte(text, cut.skip(text, 1, 1)) ~= 160) then return nil end
    return true
  end

  local take = cut.cutter(ending_head, ending_middle, ending_end)

  -- A first run ends. Gives its record, its flow, how msgpack announces that, its queue, where its standing stopped,
  -- and the size of its description.
  local function first(id, blob, nonce, letter)
    local o, head, middle = take(blob)
    if not o or middle.nonce ~= nonce then return nil end
    local text, frames = middle[letter], middle.frames[letter]
    local frame, flow = frames[o], sub(blob, o.from, o.over - 1)
    if not frame then
      frame = struct.pack('>BI3I3', o.id_size, o.size + #text - middle.size, o.about)
      frames[o] = frame
    end
    return frame .. id .. head.text .. sub(blob, o.enqueued + 1, o.enqueued + 8) .. text .. sub(blob, o.from),
      flow, middle.header, head.queue, o.stop, o.about
  end

  -- The same of any other run.
  local function redo(id, blob, attempt, nonce, letter)
    local id_size, size, about = struct.unpack('>BI3I3', blob)
    local _, s = cmsgpack.unpack_one(blob, 7 + id_size)
    if s[1] ~= RUNNING or #s > WAIT or s[15] ~= tonumber(attempt) or s[18] ~= nonce or s[10] ~= ''
      or (s[STAGE] or '') ~= '' or (s[WAIT] or '') ~= '' or string.find(s[ASIDE], '[rn]') then
      return nil
    end
    s[1], s[LEASED], s[FINISHED], s[OUTCOME], s[MARK] = SUCCEEDED, 0, now, 'complete', 1
    s[ENDED_AT], s[REASON], s[ASIDE] = now, '', s[ASIDE] .. letter
    local standing = cmsgpack.pack(s)
    return struct.pack('>BI3I3', id_size, #standing, about) .. id .. standing .. sub(blob, 8 + id_size + size),
      s[FLOW], sub(cmsgpack.pack(s[FLOW]), 1, -#s[FLOW] - 1), s[2], 7 + id_size + size, about
  end

  -- What a completion hands on, from this argument: fields and perhaps a next step.
  local function hand_on(flow, header, at)
    local fields, number = byte(ARGV[at], 1, 2)
    if fields > 0 then way.merges[#way.merges + 1] = {flow, at + 1, at + 2 * fields} end
    if number == 0 then return true end
    local id = ARGV[at + 1 + 2 * fields]
    if once[id] then return false end
    once[id] = true
    way.next[#way.next + 1] = {id = id, form = cut.forms[number], flow = flow, header = header}
    way.handed[flow] = (way.handed[flow] or 0) + 1
    return true
  end

  -- One running job; `step_at` is the argument of its step, if it may have one. Gives its queue, its record as it
  -- ends, where its standing stopped, and the size of its description.
  function way.take(id, blob, terms, step_at)
    local record, flow, header, queue, stop, about
    if terms.attempt == '1' then
      record, flow, header, queue, stop, about = first(id, blob, terms.nonce, terms.letter)
    end
    if not record then
      record, flow, header, queue, stop, about = redo(id, blob, terms.attempt, terms.nonce, terms.letter)
    end
    if not record or flow == '' then return nil end
    way.ids[#way.ids + 1] = id
    way.ended[flow] = (way.ended[flow] or 0) + 1
    if step_at and ARGV[step_at] ~= '' and not hand_on(flow, header, step_at) then return nil end
    return queue, record, stop, about
  end

  -- The flows in which fewer or more jobs live now; nothing if one is not as it should be.
  local function flows_changed()
    local names, records = {}, {}
    for flow, count in pairs(way.ended) do
      if count ~= way.handed[flow] then names[#names + 1] = flow end
    end
    if #names == 0 then return records end
    for i, packed in ipairs(redis.call('HMGET', FLOWS, unpack(names))) do
      local f = packed and cmsgpack.unpack(packed)
      if not f or f[5] ~= 1 or f[9] ~= 0 then return nil end
      f[6] = f[6] - way.ended[names[i]] + (way.handed[names[i]] or 0)
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
      local queue = new.form.queue
      if not asked[queue] then asked[queue] = redis.call('ZCARD', ROOT .. ':line:' .. queue) end
    end
    for _, there in ipairs(#ids > 0 and redis.call('HMGET', IDS, unpack(ids)) or {}) do
      if there then return false end
    end
    way.records = flows_changed()
    return way.records ~= nil
  end

  local bytes = setmetatable({}, {__index = function(known, digits)
    known[digits] = string.char(tonumber(digits, 16))
    return known[digits]
  end})

  local function id_of(text)
    if #text ~= 32 or string.find(text, '[^0-9a-f]') then return text end
    return '\1' .. string.gsub(text, '..', bytes)
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

  -- Most flows have one job that ends, and perhaps hands over.
  local function write_counts()
    local flows, puts, over, handed_over = {}, {}, {}, {}
    for flow in pairs(way.ended) do flows[#flows + 1] = flow end
    for i, text in ipairs(redis.call('HMGET', COUNTS, unpack(flows))) do
      local flow = flows[i]
      local ended, handed = way.ended[flow], way.handed[flow] or 0
      local known = ended == 1 and (handed == 0 and over or handed == 1 and handed_over) or {}
      if not known[text] then
        known[text] = cut.counted(text, {[RUNNING] = -ended, [SUCCEEDED] = ended, [WAITING] = handed})
      end
      puts[2 * i - 1], puts[2 * i] = flow, known[text]
    end
    redis.call('HSET', COUNTS, unpack(puts))
  end

  local function fill_pages(first, last)
    for page = math.floor(first / PAGE), math.floor(last / PAGE) do
      local filled = math.min(page * PAGE + PAGE - 1, last) - math.max(page * PAGE, first) + 1
      if redis.call('HINCRBY', FILLED, page, filled) == filled then redis.call('ZADD', PAGES, page, page) end
    end
  end

  local function write_next()
    local ids, records, lines, names, members_of = {}, {}, {}, {}, ROOT .. ':members:'
    local last, enqueued = redis.call('HINCRBY', ROOT, 'drawn', #way.next), struct.pack('>I8', now)
    for i, new in ipairs(way.next) do
      local form, flow, seq = new.form, new.flow, struct.pack(NUMBER, last - #way.next + i)
      if not form.fixed then
        form.fixed, form.rest = form.head .. enqueued .. form.middle, form.behind .. form.about .. form.payload
      end
      local line = lines[form.queue]
      if not line then
        line = {}
        lines[form.queue], names[#names + 1] = line, form.queue
      end
      local place = #line
      line[place + 1], line[place + 2] = form.priority, seq
      ids[2 * i - 1], ids[2 * i] = new.id, seq
      records[2 * i - 1], records[2 * i] = seq, cut.frame_of(form, new.id, #new.header + #flow)
        .. new.id .. form.fixed .. new.header .. flow .. form.rest
      redis.call('ZADD', members_of .. flow, 0, seq)
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
    local state_of = ROOT .. ':state:'
    for _, merge in ipairs(way.merges) do
      redis.call('HSET', state_of .. merge[1], unpack(ARGV, merge[2], merge[3]))
    end
    write_flows()
    write_counts()
    return #way.next > 0 and write_next() or {}
  end

  return way
end
