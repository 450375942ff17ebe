-- Shared: the short way of settle.lua, for a batch of completions of running jobs without unique keys
-- or anything set aside, and of jobs of flows as in settle_flow.lua.
-- Guarantee: as settle.lua. Declines, having written nothing, by going on to the long way.
-- KEYS: those of keys.py.
-- ARGV: as settle.lua.
-- Result: as settle.lua.
if string.byte(ARGV[3]) == 112 or string.byte(ARGV[3]) == 115 then
  local STEPPED, byte, sub = string.byte(ARGV[3]) == 115, string.byte, string.sub
  local STATE, QUEUE, KEEP, KEY, ASIDE, ATTEMPT, NONCE = 1, 2, 8, 10, 13, 15, 18
  local LEASED, FINISHED, OUTCOME, MARK, ERROR_OF, ENDED_AT = 22, 23, 24, 25, 26, 27
  local RUNNING, SUCCEEDED, WON_SUCCEEDED, FREED, PAGE, DAY = 4, 5, 25, 100, 256, 86400000000

  -- A job that runs for the first time was written by claim_plain.lua: 22 places, of which those from
  -- the expiry (9) to the nonce (18) are known, and the time of enqueue and the last one are nine bytes long.
  local BEFORE_ASIDE, AFTER_ASIDE, MOMENT, MOMENT_BYTES = '\0\160\0\255', '\0\1\0\0', 207, 9
  local ENDED_HEAD = '\220\0\27\5'
  local ENDED_TAIL = '\0' .. cmsgpack.pack(now) .. cmsgpack.pack('complete') .. '\1\0' .. cmsgpack.pack(now)
  local heads, tails, outlines = {}, {}, {}

  -- What stands before the time of enqueue.
  local function head_of(text)
    local _, queue = cmsgpack.unpack_one(text, 4)
    return {queue = queue, text = ENDED_HEAD .. sub(text, 5)}
  end

  -- What stands behind the time of enqueue: the nonce, the retention (-1: the queue's), and how it ends.
  local function tail_of(text)
    local keep_at = cut.skip(text, 1, 3)
    local at = cut.skip(text, keep_at, 1)
    local nonce_at = at + #BEFORE_ASIDE + 1 + #AFTER_ASIDE
    if sub(text, at, nonce_at - 1) ~= BEFORE_ASIDE .. '\160' .. AFTER_ASIDE then return nil end
    local _, nonce = cmsgpack.unpack_one(text, nonce_at - 1)
    local _, keep = cmsgpack.unpack_one(text, keep_at - 1)
    local before = sub(text, 1, at + #BEFORE_ASIDE - 1)
    local behind = sub(text, at + #BEFORE_ASIDE + 1, -MOMENT_BYTES - 1) .. ENDED_TAIL
    return {nonce = nonce, keep = keep, frames = {}, [''] = before .. '\160' .. behind,
      n = before .. '\161n' .. behind, r = before .. '\161r' .. behind}
  end

  -- The parts of a record of such a job; nothing if the job is another. As cut.lua does it for flows.
  local function take(blob)
    local frame = sub(blob, 1, 7)
    local o = outlines[frame]
    if o then
      local head, tail = heads[sub(blob, o.start, o.enqueued)], tails[sub(blob, o.enqueued + 9, o.stop)]
      if head and tail then return o, head, tail end
    end
    local id_size, size, about = struct.unpack('>BI3I3', frame)
    local start, stop = 8 + id_size, 7 + id_size + size
    local kind, _, count, state = byte(blob, start, start + 3)
    if kind ~= 220 or count ~= LEASED or state ~= RUNNING then return nil end
    local enqueued = cut.skip(blob, start + 4, 2)
    if byte(blob, enqueued) ~= MOMENT then return nil end
    if cut.skip(blob, stop - MOMENT_BYTES + 1, 1) ~= stop + 1 then return nil end
    local head_text, tail_text = sub(blob, start, enqueued), sub(blob, enqueued + 9, stop)
    local head, tail = head_of(head_text), tail_of(tail_text)
    if not tail then return nil end
    o = {id_size = id_size, size = size, about = about, start = start, enqueued = enqueued, stop = stop}
    outlines[frame], heads[head_text], tails[tail_text] = o, head, tail
    return o, head, tail
  end

  -- The record of such a job as it ends.
  local function ended_record(id, blob, o, head, tail, letter)
    local text, frames = tail[letter], tail.frames[letter]
    if not frames then
      frames = {}
      tail.frames[letter] = frames
    end
    local frame = frames[o]
    if not frame then
      frame = struct.pack('>BI3I3', o.id_size, o.size + #text - (o.stop - o.enqueued - 8), o.about)
      frames[o] = frame
    end
    return frame .. id .. head.text .. sub(blob, o.enqueued + 1, o.enqueued + 8) .. text .. sub(blob, o.stop + 1)
  end

  -- The standing of any other run, where it stops, and the size of the description; nothing if it is not usual.
  local function unpacked(blob, terms)
    local id_size, size, about = struct.unpack('>BI3I3', blob)
    local _, s = cmsgpack.unpack_one(blob, 7 + id_size)
    if s[STATE] ~= RUNNING or #s ~= LEASED or s[KEY] ~= '' or s[ASIDE] ~= ''
      or s[ATTEMPT] ~= tonumber(terms.attempt) or s[NONCE] ~= terms.nonce then
      return nil
    end
    return s, 7 + id_size + size, about
  end

  -- Its record as it ends, without what follows the standing.
  local function repacked(s, id, letter, about)
    s[STATE], s[LEASED], s[FINISHED], s[OUTCOME] = SUCCEEDED, 0, now, 'complete'
    s[MARK], s[ERROR_OF], s[ENDED_AT], s[ASIDE] = 1, 0, now, letter
    local packed = cmsgpack.pack(s)
    return struct.pack('>BI3I3', #id, #packed, about) .. id .. packed
  end

  -- A job's group; empty for none.
  local described = {}
  local function group_of(blob, from, size)
    local text = sub(blob, from, from + size - 1)
    if not described[text] then described[text] = cmsgpack.unpack(text)[5] or '' end
    return described[text]
  end

  -- As groups.lua keeps them: jobs of these groups run no longer, and their lanes open.
  local function stop(queue, counts)
    local names, key = {}, ROOT .. ':groups:' .. queue
    for group in pairs(counts) do names[#names + 1] = group end
    local puts, drops, opens, places, parked = {}, {}, {}, {}, {{}, {}}
    for i, record in ipairs(redis.call('HMGET', key, unpack(names))) do
      local group, running = names[i], struct.unpack('>I4', record) - counts[names[i]]
      local parts, opened = {struct.pack('>I4', running)}, false
      for at = 5, #record, 13 do
        local into, lane = string.byte(record, at + 10), string.sub(record, at, at + 12)
        if into ~= 0 then
          local member = string.sub(lane, 5, 10) .. group .. '\0' .. string.sub(lane, 1, 4)
          places[#places + 1], places[#places + 2] = struct.unpack('>i4', lane), member
          table.insert(parked[into], member)
          lane, opened = string.sub(lane, 1, 10) .. '\0' .. string.sub(lane, 12), true
        end
        parts[#parts + 1] = lane
      end
      if opened then opens[#opens + 1] = group end
      if running == 0 and #parts == 1 then
        drops[#drops + 1] = group
      else
        puts[#puts + 1], puts[#puts + 2] = group, table.concat(parts)
      end
    end
    if #puts > 0 then redis.call('HSET', key, unpack(puts)) end
    if #drops > 0 then redis.call('HDEL', key, unpack(drops)) end
    if #opens == 0 then return end
    redis.call('ZADD', ROOT .. ':lanes:' .. queue, unpack(places))
    redis.call('ZREM', ROOT .. ':opens:' .. queue, unpack(opens))
    for into = 1, 2 do
      if #parked[into] > 0 then
        redis.call('ZREM', ROOT .. ':parked:' .. queue .. '\31' .. into, unpack(parked[into]))
      end
    end
  end

  -- The ids, how each ends, its result and where its step is among the arguments; nothing if a job is named twice.
  local function items()
    local ids, ends, results, steps, seen = {}, {}, {}, {}, {}
    local count, at, last, known = 0, 4, #ARGV, {}
    if STEPPED then known, at = cut.read_kinds() end
    while at <= last do
      local id, word = ARGV[at], ARGV[at + 1]
      if seen[id] then return nil end
      local terms = known[word]
      if not terms then
        terms = cut.terms_of(word)
        known[word] = terms
      end
      count, at, seen[id] = count + 1, at + 2, true
      ids[count], ends[count] = id, terms
      if terms.letter == 'r' then results[count], at = ARGV[at], at + 1 end
      if STEPPED then steps[count], at = at, at + terms.size end
    end
    return ids, ends, results, steps
  end

  local function settle()
    local ids, terms_for, told, steps = items()
    if not ids then return nil end
    local count, way = #ids, nil
    local seqs = redis.call('HMGET', IDS, unpack(ids))
    for i = 1, count do
      if not seqs[i] then return nil end
    end

    local answers, parts, results = {}, {}, {}

    local function part_of(queue)
      local part = parts[queue]
      if not part then
        local packed = redis.call('HGET', SETTINGS, queue)
        local settings = packed and cmsgpack.unpack(packed) or {DAY}
        part = {keep = settings[1], count = 0, kept = 0, seqs = {}, records = {}, ends = {}, ids = {}, gone = {}, expiry = {}}
        part.frees = (settings[5] or -1) >= 0
        part.frees_group = (settings[8] or -1) >= 0 or settings[11] == 1
        parts[queue] = part
      end
      return part
    end

    local blobs, last_queue, part = redis.call('HMGET', JOBS, unpack(seqs)), nil, nil
    -- Mostly all answers are the same: then one stands for them.
    local alike, usual, usual_queue = true, nil, nil
    for i = 1, count do
      local blob = blobs[i]
      if not blob then return nil end
      local seq, id, terms = seqs[i], ids[i], terms_for[i]
      local letter = terms.letter
      local queue, keep, record, stop_at, about
      -- A running job of a flow has at least 30 places.
      if byte(blob, 10 + #id) >= 30 then
        way = way or flow_way()
        queue, record, stop_at, about = way.take(id, blob, terms, steps[i])
        if not queue then return nil end
      elseif terms.stepped then
        return nil
      else
        local o, head, tail = take(blob)
        if o and tail.nonce == terms.nonce and terms.attempt == '1' then
          queue, keep, stop_at, about = head.queue, tail.keep, o.stop, o.about
          if keep < 0 then keep = part_of(queue).keep end
          if keep ~= 0 then record = ended_record(id, blob, o, head, tail, letter) end
        else
          local s
          s, stop_at, about = unpacked(blob, terms)
          if not s then return nil end
          queue, keep = s[QUEUE], s[KEEP]
          if keep < 0 then keep = part_of(queue).keep end
          if keep == 0 then return nil end
          record = repacked(s, id, letter, about) .. sub(blob, stop_at + 1)
        end
      end
      if queue ~= last_queue then last_queue, part = queue, part_of(queue) end
      local freed = part.frees
      -- A description of one part has only a task.
      local group = byte(blob, stop_at + 1) ~= 145 and group_of(blob, stop_at + 1, about) or ''
      if group ~= '' then
        part.groups = part.groups or {}
        part.groups[group] = (part.groups[group] or 0) + 1
        freed = freed or part.frees_group
      end
      if freed then part.freed = true end
      local code = freed and FREED + WON_SUCCEEDED or WON_SUCCEEDED
      if i == 1 then
        usual, usual_queue = code, queue
      elseif alike and (code ~= usual or queue ~= usual_queue) then
        alike = false
        for j = 1, i - 1 do answers[2 * j - 1], answers[2 * j] = usual, usual_queue end
      end
      if not alike then answers[2 * i - 1], answers[2 * i] = code, queue end
      part.count = part.count + 1
      part.seqs[part.count] = seq
      if not record then
        part.gone[#part.gone + 1], part.ids[#part.ids + 1] = seq, id
      else
        if letter == 'r' then results[#results + 1], results[#results + 2] = seq .. 'r', told[i] end
        local last = part.kept
        part.kept = last + 2
        part.records[last + 1], part.records[last + 2] = seq, record
        -- A job of a flow is kept as long as that.
        if keep then
          if not part.expiry[keep] then part.expiry[keep] = string.format('%d', now + keep) end
          part.ends[#part.ends + 1], part.ends[#part.ends + 2] = part.expiry[keep], seq
        end
      end
    end
    if way and not way.ready(ids) then return nil end

    redis.call('HDEL', ROOT, '-')
    local filled = way and way.write() or {}
    for _, queue in ipairs(filled) do part_of(queue).freed = true end
    local last = alike and usual_queue or answers[2 * count]
    if #filled > 0 then last = {last, unpack(filled)} end
    if #results > 0 then redis.call('HSET', ASIDES, unpack(results)) end
    for queue, part in pairs(parts) do
      -- If keys of the groups are of another type, the jobs keep their leases.
      if part.groups then stop(queue, part.groups) end
      if #part.seqs > 0 then
        redis.call('ZREM', ROOT .. ':leases:' .. queue, unpack(part.seqs))
        redis.call('HINCRBY', TALLIES, 'ever:5:' .. queue, #part.seqs)
      end
      if part.freed and ARGV[2] ~= '' then redis.call('PUBLISH', ARGV[2] .. 'work:' .. queue, '') end
      if #part.records > 0 then
        redis.call('HSET', JOBS, unpack(part.records))
        if #part.ends > 0 then redis.call('ZADD', ENDED, unpack(part.ends)) end
        redis.call('HINCRBY', TALLIES, 'now:5:' .. queue, #part.records / 2)
      end
      if #part.gone > 0 then
        redis.call('HDEL', JOBS, unpack(part.gone))
        redis.call('HDEL', IDS, unpack(part.ids))
        local pages = {}
        for _, seq in ipairs(part.gone) do
          local page = math.floor(struct.unpack('>I6', seq) / PAGE)
          pages[page] = (pages[page] or 0) - 1
        end
        for page, change in pairs(pages) do
          if redis.call('HINCRBY', FILLED, page, change) == 0 then
            redis.call('HDEL', FILLED, page)
            redis.call('ZREM', PAGES, page)
          end
        end
      end
    end
    ring_ended(ids, way and way.over or {}, byte(ARGV[3], -1) == 126)
    if alike then return {-count, usual, usual_queue, last} end
    answers[2 * count] = last
    return answers
  end

  local answers = settle()
  if answers then return answers end
end
