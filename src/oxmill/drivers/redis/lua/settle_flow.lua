-- Shared: the short way of settle.lua for jobs of flows that end as planned: nobody waits for them, and they
-- hand over to at most one next step each, which is new and may start at once.
-- Guarantee: as settle.lua. Declines, having written nothing, by giving nothing.
-- KEYS: those of keys.py.
-- ARGV: as settle.lua.
-- Result: `cut.read_kinds` and what makes next steps; `flow_way()`: `take` one job, `ready` once all are taken, then
-- `write`; `over` are the flows that ended by it.
do
  -- How a lease was told to end: attempt, nonce and the letter of its result, parted by blanks.
  function cut.terms_of(text)
    local attempt, nonce, letter = string.match(text, '^(%S+) (%S+) (%l?)$')
    return {attempt = attempt, nonce = nonce, letter = letter}
  end

  -- What the items of this batch share, by their words, and where these begin: as settle.lua says.
  function cut.read_kinds()
    local at, forms, kinds = 5, {}, {}
    for number = 1, tonumber(ARGV[4]) do
      forms[number] = {queue = ARGV[at], priority = ARGV[at + 1], head = ARGV[at + 2], middle = ARGV[at + 3],
        behind = ARGV[at + 4], about = ARGV[at + 5], payload = ARGV[at + 6], frames = {}}
      at = at + 7
    end
    local count = tonumber(ARGV[at])
    at = at + 1
    for number = 1, count do
      local kind, form, fields = cut.terms_of(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
      kind.stepped, kind.form, kind.fields = form >= 0, forms[form], fields
      kind.names, kind.size = {unpack(ARGV, at + 3, at + 2 + fields)}, fields + (form > 0 and 1 or 0)
      kinds[string.format('%d', number)] = kind
      at = at + 3 + fields
    end
    return kinds, at
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
  local FLOW_DAY, NUMBER, MOMENT, EIGHT, TOGETHER = 86400000000, '>I6', 207, '\152', '\255'
  -- Of a first run, as claim_short.lua writes it: what lies between the retention and the nonce, but for
  -- the letters aside, and between the lease and the flow.
  local BEFORE_ASIDE, AFTER_ASIDE, NOT_ENDED = '\0\160\0\255', '\0\1\0\0', '\0\160\0\0\0\160\0'
  local ENDED_NOW = '\0' .. cmsgpack.pack(now) .. cmsgpack.pack('complete') .. '\1\0' .. cmsgpack.pack(now) .. '\160\0'
  local way, ARGV, sub, byte = {over = {}}, ARGV, string.sub, string.byte
  -- Of each flow, in the order met, by how many more jobs live there; by the size of flows, how msgpack announces them.
  local flows, place_of, changes, headers, met = {}, {}, {}, {}, 0
  -- Of each job that hands something on, its kind, its first argument and its flow; the next steps.
  local kinds, firsts, flow_of, handing = {}, {}, {}, 0
  local next_ids, once, made = {}, {}, 0

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
    return {nonce = nonce, size = #text, header = sub(text, ends_at + #NOT_ENDED),
      [''] = before .. '\160' .. behind, n = before .. '\161n' .. behind, r = before .. '\161r' .. behind}
  end

  -- Not of a stage, and not held for anybody.
  local function ending_end(text, places)
    if places == WAIT or (places >= STAGE and byte(text, cut.skip(text, 1, 1)) ~= 160) then return nil end
    return true
  end

  local take = cut.cutter(ending_head, ending_middle, ending_end)

  -- Any run ends. Gives its record, its flow, how msgpack announces that, its queue, where its standing stopped,
  -- and the size of its description.
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

  -- What a completion hands on, from this argument: fields and perhaps a next step. Gives how many more jobs of its
  -- flow live then; nothing if the next step is named twice.
  local function hand_on(flow, kind, at)
    handing = handing + 1
    kinds[handing], firsts[handing], flow_of[handing] = kind, at, flow
    if not kind.form then return -1 end
    local id = ARGV[at + kind.fields]
    if once[id] then return nil end
    once[id], made = true, made + 1
    next_ids[made] = id
    return 0
  end

  -- One running job; what its step hands on begins at this argument. Gives its queue, its record as it ends, where
  -- its standing stopped, and the size of its description.
  function way.take(id, blob, terms, at)
    local record, flow, header, queue, stop, about
    local o, head, middle, _, tail = take(blob, sub(blob, 1, 7))
    if o and terms.attempt == '1' and middle.nonce == terms.nonce then
      local text, enqueued, from = middle[terms.letter], o.enqueued, o.from
      local frame = o.frames[text]
      if not frame then
        frame = struct.pack('>BI3I3', o.id_size, o.size + #text - middle.size, o.about)
        o.frames[text] = frame
      end
      flow, header, queue, stop, about = sub(blob, from, o.over - 1), middle.header, head.queue, o.stop, o.about
      record = frame .. id .. head.text .. sub(blob, enqueued + 1, enqueued + 8) .. text .. flow .. tail
    else
      record, flow, header, queue, stop, about = redo(id, blob, terms.attempt, terms.nonce, terms.letter)
    end
    if not record or flow == '' then return nil end
    local more, place = -1, place_of[flow]
    if terms.stepped and terms.size > 0 then more = hand_on(flow, terms, at) end
    if not more then return nil end
    if place then
      changes[place] = changes[place] + more
    else
      met = met + 1
      flows[met], place_of[flow], changes[met], headers[#flow] = flow, met, more, header
    end
    return queue, record, stop, about
  end

  -- A flow's record: its number of arrival and what stands up to its start is its own, the rest of it is known by
  -- its text: until when the flow is kept if it ends, and what it becomes by each change of its number of live jobs. Nothing
  -- if it is not as it should be.
  local rests = {}
  local function rest_of(text)
    local rest = rests[text]
    if rest then return rest end
    -- Retention, published, live jobs, lost, failed, ended, bad jobs, fields.
    local f = cmsgpack.unpack(EIGHT .. text)
    if f[2] ~= 1 or f[6] ~= 0 then return nil end
    rest = {f = f, failed = f[4] == 1 or f[7] > 0}
    local keep = f[1] >= 0 and f[1] or rest.failed and 30 * FLOW_DAY or FLOW_DAY
    rest.due, rests[text] = string.format('%d', now + keep), rest
    return rest
  end

  -- What it becomes, and whether the flow ends thereby.
  local function changed(rest, change)
    local known = rest[change]
    if not known then
      local f = {unpack(rest.f)}
      f[3] = f[3] + change
      if f[3] == 0 then f[5], f[6] = rest.failed and 1 or 0, now end
      known = {text = sub(cmsgpack.pack(f), 2), over = f[3] == 0}
      rest[change] = known
    end
    return known
  end

  -- The flows in which fewer or more jobs live now, their records, their numbers, where their starts stand there, and
  -- the rests.
  local names, texts, seqs, starts, found = {}, nil, {}, {}, {}

  -- Whether they are all as they should be.
  local function look_at_flows()
    for i = 1, met do
      if changes[i] ~= 0 then names[#names + 1] = flows[i] end
    end
    if #names == 0 then return true end
    texts = redis.call('HMGET', FLOWS, unpack(names))
    local name = '' -- of the last one, and how its start begins
    for i = 1, #names do
      local text = texts[i]
      if not text then return false end
      local before, seq = cmsgpack.unpack_one(text, 1)
      local from = before + 1
      if name == '' or string.find(text, name, from, true) ~= from then name = sub(text, from, cut.skip(text, from, 1)) end
      local start = before + #name
      local rest = byte(text, start) == MOMENT and rest_of(sub(text, start + 9))
      if not rest then return false end
      seqs[i], starts[i], found[i] = seq, start, rest
    end
    return true
  end

  -- Whether nobody waits for these jobs, no next step is there yet, and all flows are known.
  function way.ready(ids)
    local below = redis.call('HLEN', DOWNS) > 0 and redis.call('HMGET', DOWNS, unpack(ids)) or {}
    for i = 1, #below do
      if below[i] and struct.unpack('>I4', below[i]) > 0 then return false end
    end
    local asked = {}
    for i = 1, handing do
      local form = kinds[i].form
      if form and not asked[form] then
        -- A key of another type must stop the settlement here, before it writes.
        asked[form] = redis.call('ZCARD', ROOT .. ':line:' .. form.queue)
      end
    end
    local there = made > 0 and redis.call('HMGET', IDS, unpack(next_ids)) or {}
    for i = 1, #there do
      if there[i] then return false end
    end
    return look_at_flows()
  end

  -- Flows are to go at the same time: they are one member there, as retire.lua reads it.
  local function retire(due, cards)
    local words = {#cards > 1 and TOGETHER or nil}
    for i = 1, #cards do
      if #cards > 1 then words[#words + 1] = struct.pack('>I2', #cards[i]) end
      words[#words + 1] = cards[i]
    end
    redis.call('ZADD', RETIRED, due, table.concat(words))
  end

  -- As book.lua does: flows without live jobs end.
  local function write_flows()
    local puts, gone, retired, shelves = {}, {}, {}, {}
    for i = 1, #names do
      local flow, text, rest = names[i], texts[i], found[i]
      local after = changed(rest, changes[place_of[flow]])
      puts[2 * i - 1], puts[2 * i] = flow, sub(text, 1, starts[i] + 8) .. after.text
      if after.over then
        local card, count = struct.pack(NUMBER, seqs[i]) .. flow, #gone + 1
        local shelf = rest.failed and 'failed' or 'succeeded'
        local cards = shelves[shelf] or {}
        shelves[shelf] = cards
        cards[#cards + 1], cards[#cards + 2] = '0', card
        gone[count], way.over[count] = card, flow
        local others = retired[rest.due]
        if others then others[#others + 1] = card else retired[rest.due] = {card} end
      end
    end
    if #names > 0 then redis.call('HSET', FLOWS, unpack(puts)) end
    if #gone == 0 then return end
    redis.call('ZREM', ROOT .. ':shelf:status=running', unpack(gone))
    for due, cards in pairs(retired) do retire(due, cards) end
    for shelf, cards in pairs(shelves) do redis.call('ZADD', ROOT .. ':shelf:status=' .. shelf, unpack(cards)) end
  end

  local function fill_pages(first, last)
    for page = math.floor(first / PAGE), math.floor(last / PAGE) do
      local filled = math.min(page * PAGE + PAGE - 1, last) - math.max(page * PAGE, first) + 1
      if redis.call('HINCRBY', FILLED, page, filled) == filled then redis.call('ZADD', PAGES, page, page) end
    end
  end

  local function write_next()
    local ids, records, lines, queues, count = {}, {}, {}, {}, 0
    local call, members_of, pack = redis.call, ROOT .. ':members:', struct.pack
    local last, enqueued = call('HINCRBY', ROOT, 'drawn', made), pack('>I8', now)

    -- What is the same for all next steps of a form, in this batch.
    local function begin(form)
      form.fixed, form.rest = form.head .. enqueued .. form.middle, form.behind .. form.about .. form.payload
      form.line = lines[form.queue]
      if not form.line then
        form.line = {}
        lines[form.queue], queues[#queues + 1] = form.line, form.queue
      end
    end

    for i = 1, handing do
      local form, flow = kinds[i].form, flow_of[i]
      if form then
        count = count + 1
        if not form.line then begin(form) end
        local id, seq, line, header = next_ids[count], pack(NUMBER, last - made + count), form.line, headers[#flow]
        local place = #line
        line[place + 1], line[place + 2] = form.priority, seq
        ids[2 * count - 1], ids[2 * count] = id, seq
        records[2 * count - 1], records[2 * count] = seq, cut.frame_of(form, id, #header + #flow) .. id .. form.fixed
          .. header .. flow .. form.rest
        call('ZADD', members_of .. flow, '0', seq)
      end
    end
    for queue, line in pairs(lines) do call('ZADD', ROOT .. ':line:' .. queue, unpack(line)) end
    call('SADD', QUEUES, unpack(queues))
    fill_pages(last - made + 1, last)
    call('HSET', JOBS, unpack(records))
    call('HSET', IDS, unpack(ids))
    table.sort(queues)
    return queues
  end

  local function write_states()
    local call, state_of = redis.call, ROOT .. ':state:'
    for i = 1, handing do
      local fields, names, at = kinds[i].fields, kinds[i].names, firsts[i]
      if fields == 1 then
        call('HSET', state_of .. flow_of[i], names[1], ARGV[at])
      elseif fields > 0 then
        local puts = {}
        for j = 1, fields do puts[2 * j - 1], puts[2 * j] = names[j], ARGV[at + j - 1] end
        call('HSET', state_of .. flow_of[i], unpack(puts))
      end
    end
  end

  -- Gives the queues in which next steps wait.
  function way.write()
    write_states()
    write_flows()
    return made > 0 and write_next() or {}
  end

  return way
end
