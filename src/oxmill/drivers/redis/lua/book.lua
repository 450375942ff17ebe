-- Shared: records of flows and stages, and who waits for whom.
-- Guarantee: each is read once per script and written once, at the flush; reads see what is to come.
-- KEYS: FLOWS, STAGES, DOWNS, RETIRED, ABANDONED.
-- ARGV: none.
-- Result: `kin.flow`, `kin.stage`, `kin.below` and what changes them.
kin.parts[#kin.parts + 1] = function()
  local flows, stages, downs = {}, {}, {}
  local changed_flows, changed_stages, changed_downs, doomed, added = {}, {}, {}, {}, {}
  local READS, FLOW_DAY = 33, 86400000000

  local function fetch(cache, key, name, parse_one)
    local found = cache[name]
    if found == nil then
      local packed = redis.call('HGET', key, name)
      found = packed and parse_one(name, packed)
      cache[name] = found
    end
    return found
  end

  -- The members of a sorted set with scores in this range, in order, as they will be.
  function kin.range(key, low, high, limit)
    local own, extra, found = zsets[key] or {}, 0, {}
    for _ in pairs(own) do extra = extra + 1 end
    local told = redis.call('ZRANGEBYSCORE', key, low, high, 'WITHSCORES', 'LIMIT', 0, limit + extra)
    for i = 1, #told, 2 do
      if own[told[i]] == nil then found[#found + 1] = {told[i], tonumber(told[i + 1])} end
    end
    if extra == 0 then return found end
    for member, score in pairs(own) do
      if score and score >= low and score <= high then found[#found + 1] = {member, score} end
    end
    table.sort(found, function(a, b)
      if a[2] ~= b[2] then return a[2] < b[2] end
      return a[1] < b[1]
    end)
    for i = #found, limit + 1, -1 do found[i] = nil end
    return found
  end

  -- Flows.

  local function parse_flow(id, packed)
    local f = cmsgpack.unpack(packed)
    return {id = id, seq = f[1], name = f[2], started = f[3], keep = f[4], published = f[5] == 1,
      live = f[6], lost = f[7] == 1, failed = f[8] == 1, ended = f[9], bad = f[10], words = f[11]}
  end

  local function flag(value) return value and 1 or 0 end

  local function pack_flow(f)
    return cmsgpack.pack({f.seq, f.name, f.started, f.keep, flag(f.published), f.live, flag(f.lost),
      flag(f.failed), f.ended, f.bad, f.words})
  end

  local function card(f) return struct.pack(NUMBER, f.seq) .. f.id end
  local function shelf(word) return ROOT .. ':shelf:' .. word end
  local function status_of(f) return f.ended == 0 and 'running' or f.failed and 'failed' or 'succeeded' end
  local function state_of(id) return ROOT .. ':state:' .. id end

  local function put_on_shelves(f, present)
    zput(shelf('all'), card(f), present)
    zput(shelf('name=' .. f.name), card(f), present)
    zput(shelf('status=' .. status_of(f)), card(f), present)
    for i = 1, #f.words, 2 do
      if f.words[i + 1] ~= 'l' then zput(shelf('field:' .. f.words[i] .. '=' .. f.words[i + 1]), card(f), present) end
    end
  end

  function kin.flow(id) return fetch(flows, FLOWS, id, parse_flow) end

  function kin.change_flow(f) changed_flows[f.id] = true end

  function kin.merge(id, values)
    for i = 1, #values, 2 do hput(state_of(id), values[i], values[i + 1]) end
  end

  -- The flow of this id; it is made unless it is there.
  function kin.flow_of(id, name, keep, words, values)
    local f = kin.flow(id)
    if f then return f end
    f = {id = id, seq = draw(), name = name, started = now, keep = keep, published = false, live = 0,
      lost = false, failed = false, ended = 0, bad = 0, words = words}
    flows[id], kin.made[id] = f, true
    kin.change_flow(f)
    kin.merge(id, values)
    return f
  end

  -- What a job reads of its flow's state, in the order of its fields.
  function kin.fields_read(s)
    local names = {}
    for name in string.gmatch(string.sub(s[READS], 2), '[^\31]+') do names[#names + 1] = name end
    return #names > 0 and hmget(state_of(s[FLOW]), names) or names
  end

  function kin.publish_flow(f)
    if f.published then return end
    f.published = true
    kin.change_flow(f)
    put_on_shelves(f, 0)
  end

  -- A flow that has live jobs has not ended, or goes on.
  function kin.open_again(f)
    if f.ended == 0 then return end
    zput(shelf('status=' .. status_of(f)), card(f), false)
    zput(RETIRED, card(f), false)
    f.ended, f.failed = 0, false
    zput(shelf('status=running'), card(f), 0)
    kin.change_flow(f)
  end

  -- Until when a flow that has ended is kept.
  function kin.due(f)
    return f.ended + (f.keep >= 0 and f.keep or f.failed and 30 * FLOW_DAY or FLOW_DAY)
  end

  -- A flow without live jobs ends, as failed if a job did not succeed that nobody waited for.
  function kin.settle_accounts(f)
    if f.live > 0 or f.ended ~= 0 then return end
    if f.published then zput(shelf('status=running'), card(f), false) end
    f.failed = f.lost or f.bad > 0
    f.ended = now
    if f.published then zput(shelf('status=' .. status_of(f)), card(f), 0) end
    zput(RETIRED, card(f), kin.due(f))
    kin.change_flow(f)
    ended.flows = ended.flows or {}
    ended.flows[#ended.flows + 1] = f.id
  end

  local function drop(key)
    hashes[key], zsets[key] = nil, nil
    doomed[#doomed + 1] = key
  end

  function kin.drop_flow(f)
    if f.published then put_on_shelves(f, false) end
    zput(RETIRED, card(f), false)
    flows[f.id] = false
    changed_flows[f.id] = true
    kin.forget_counts(f.id)
    drop(state_of(f.id))
    drop(ROOT .. ':stages:' .. f.id)
  end

  -- Stages.

  local function parse_stage(name, packed)
    local s = cmsgpack.unpack(packed)
    return {name = name, flow = s[1], touched = s[2], published = s[3] == 1, live = s[4], count = s[5],
      parent = s[6], rolled = s[7]}
  end

  function kin.staged_of(name) return ROOT .. ':staged:' .. name end
  function kin.children_of(name) return ROOT .. ':children:' .. name end
  local function roll_of(name) return ROOT .. ':roll:' .. name end
  function kin.stages_of(flow) return ROOT .. ':stages:' .. flow end

  function kin.stage(name) return name ~= '' and fetch(stages, STAGES, name, parse_stage) end

  function kin.change_stage(stage) changed_stages[stage.name] = true end

  -- The stage of this name, if it is there and is not published.
  function kin.in_unpublished(name)
    local stage = kin.stage(name)
    return stage and not stage.published and stage or nil
  end

  function kin.stage_of(name, flow)
    local stage = kin.stage(name)
    if not stage then
      stage = {name = name, flow = flow, published = false, live = 0, count = 0, parent = '', rolled = 0}
      stages[name] = stage
      zput(kin.stages_of(flow), name, 0)
    end
    stage.touched = now
    if not stage.published then zput(ABANDONED, name, now) end
    kin.change_stage(stage)
    return stage
  end

  -- The roll of a stage: the ids of its children as a wait takes them, so that whoever waits for
  -- thousands need not gather them.
  function kin.enroll(stage, id)
    if not stage.rolled then return end
    local word = string.char(#id) .. id
    added[stage.name] = added[stage.name] or {}
    table.insert(added[stage.name], word)
    stage.rolled = stage.rolled + #word
  end

  -- The roll, if it has all children of the stage and no others. It is taken once.
  function kin.take_roll(stage)
    local key = kin.children_of(stage.name)
    if not stage.rolled or stage.rolled == 0 or added[stage.name] or zsets[key] then return nil end
    if redis.call('ZCARD', key) ~= stage.count then return nil end
    local roll = redis.call('GET', roll_of(stage.name))
    if not roll or #roll ~= stage.rolled then return nil end
    stage.rolled = false
    kin.change_stage(stage)
    drop(roll_of(stage.name))
    return roll
  end

  function kin.drop_stage(stage)
    zput(ABANDONED, stage.name, false)
    zput(kin.stages_of(stage.flow), stage.name, false)
    stages[stage.name] = false
    changed_stages[stage.name] = true
    drop(kin.staged_of(stage.name))
    drop(kin.children_of(stage.name))
    drop(roll_of(stage.name))
  end

  -- Who waits for a job, by its id: dependents with open edges in order of arrival, and the others.

  local function parse_below(_, packed)
    local size = struct.unpack('>I4', packed)
    return {open = string.sub(packed, 5, 4 + size), closed = string.sub(packed, 5 + size)}
  end

  function kin.below(id)
    local below = fetch(downs, DOWNS, id, parse_below)
    if not below then
      below = {open = '', closed = ''}
      downs[id] = below
    end
    return below
  end

  function kin.fetch_below(ids)
    local missing = {}
    for _, id in ipairs(ids) do
      if downs[id] == nil then missing[#missing + 1] = id end
    end
    if #missing == 0 then return end
    for i, packed in ipairs(hmget(DOWNS, missing)) do
      downs[missing[i]] = packed and parse_below(nil, packed) or {open = '', closed = ''}
    end
  end

  function kin.change_below(id) changed_downs[id] = true end

  function kin.awaited(id)
    local below = kin.below(id)
    return below.open ~= '' or below.closed ~= ''
  end

  flushing.flows = function()
    if #doomed > 0 then send('UNLINK', doomed[1], doomed) end
    for id in pairs(changed_flows) do
      local f = flows[id]
      hput(FLOWS, id, f and pack_flow(f))
    end
    for name in pairs(changed_stages) do
      local s = stages[name]
      hput(STAGES, name, s and cmsgpack.pack({s.flow, s.touched, flag(s.published), s.live, s.count, s.parent,
        s.rolled or nil}))
    end
    for name, words in pairs(added) do redis.call('APPEND', roll_of(name), table.concat(words)) end
    for id in pairs(changed_downs) do
      local below = downs[id]
      local some = below.open ~= '' or below.closed ~= ''
      hput(DOWNS, id, some and struct.pack('>I4', #below.open) .. below.open .. below.closed)
    end
    changed_flows, changed_stages, changed_downs, doomed, added = {}, {}, {}, {}, {}
  end
end
