-- Shared: what ends and publications set off: done at once up to a bound, the rest by sweeps.
-- Guarantee: whatever is not done is on record before the script ends, so nothing is ever forgotten.
-- KEYS: RIPPLES.
-- ARGV: none.
-- Result: `kin.ended`, `kin.ripple_on`, `kin.sweep_ripples`, `kin.let_go`. In RIPPLES the score is twice the
-- number of a ripple, plus one for a close that tells of a success; the member is c and the id of the job
-- that ended, s and the number, wait and position of a join that is over, f and a stage, or the number of a
-- job after an a if edges of its wait are still to be made, after a d if they are to be forgotten.
kin.parts[#kin.parts + 1] = function()
  local STAGE, WAIT = 32, 35
  local SHED, SIBLING = '>I4I4', 'sibling'

  -- A live job counts for its stage until that is published, then for its flow.
  function kin.enter(job)
    local stage = kin.in_unpublished(job.s[STAGE])
    if stage then
      stage.live = stage.live + 1
      kin.change_stage(stage)
      return
    end
    local flow = kin.flow(job.s[FLOW])
    flow.live = flow.live + 1
    kin.change_flow(flow)
    kin.publish_flow(flow)
    kin.open_again(flow)
  end

  -- A job is live no longer; its flow ends with the last one.
  function kin.leave(job)
    local stage = kin.in_unpublished(job.s[STAGE])
    if stage then
      stage.live = stage.live - 1
      kin.change_stage(stage)
      return
    end
    local flow = kin.flow(job.s[FLOW])
    flow.live = flow.live - 1
    kin.change_flow(flow)
    kin.settle_accounts(flow)
  end

  -- This stage holds the job from now on.
  function kin.hold(stage, job)
    job.s[STAGE], job.s[REASON] = stage.name, 'staged'
    zput(kin.staged_of(stage.name), job.seq, 1)
    save(job)
  end

  -- Its stage holds a job no longer.
  function kin.unhold(job)
    local stage = kin.stage(job.s[STAGE])
    if not stage then return end
    zput(kin.staged_of(stage.name), job.seq, not stage.published and 0)
  end

  -- A job of a flow has ended. Those that wait for it learn of it when the script ripples.
  function kin.ended(job)
    local s = job.s
    if s[STATE] ~= SUCCEEDED and not kin.awaited(job.id) then
      local flow = kin.flow(s[FLOW])
      flow.bad = flow.bad + 1
      kin.change_flow(flow)
    end
    kin.leave(job)
    if s[STAGE] ~= '' then kin.unhold(job) end
    kin.forget_deadline(job)
    if kin.sheds(job) then kin.fresh[#kin.fresh + 1] = {'s', job, s[WAIT][1], 0} end
    if kin.below(job.id).open ~= '' then kin.fresh[#kin.fresh + 1] = {'c', job.id, s[STATE] == SUCCEEDED} end
  end

  -- A staged job is held by its stage no longer: it waits for what it is after, or in line.
  function kin.let_go(job)
    kin.unhold(job)
    job.s[REASON] = ''
    save(job)
    if job.s[WAIT] ~= '' then kin.begin(job) else kin.free(job) end
  end

  local function close_some(each, budget)
    local below = kin.below(each[2])
    local most = math.min(budget, #below.open / NUMBER_SIZE)
    local some = string.sub(below.open, 1, most * NUMBER_SIZE)
    below.open, below.closed = string.sub(below.open, #some + 1), below.closed .. some
    kin.change_below(each[2])
    local seqs = {}
    for at = 1, #some, NUMBER_SIZE do seqs[#seqs + 1] = string.sub(some, at, at + NUMBER_SIZE - 1) end
    load_all(seqs)
    for _, seq in ipairs(seqs) do
      if load(seq) then kin.close(load(seq), each[2], each[3]) end
    end
    return most, below.open == ''
  end

  local function shed_one(id)
    local job = by_id(id)
    if not job or job.s[STATE] > RUNNING or kin.wanted(id) then return end
    if job.s[STATE] ~= RUNNING then
      finish(job, CANCELLED, SIBLING)
    elseif job.s[CANCEL] == 0 then
      job.s[CANCEL], job.s[REASON] = 1, SIBLING
      save(job)
      ended.ordered = true
    end
  end

  local function shed_some(each, budget)
    local edges = kin.open_edges(each[2], each[3], each[4], budget + 1)
    local ids, done = {}, math.min(budget, #edges)
    for i = 1, done do ids[i] = edges[i][1] end
    by_ids(ids)
    kin.fetch_below(ids)
    for i = 1, done do
      each[4] = kin.position_of(edges[i][2])
      shed_one(ids[i])
    end
    return done, #edges <= budget
  end

  local function free_some(each, budget)
    local held = kin.range(kin.staged_of(each[2]), 1, 1, budget + 1)
    local seqs, done = {}, math.min(budget, #held)
    for i = 1, done do seqs[i] = held[i][1] end
    load_all(seqs)
    for i = 1, done do
      if load(seqs[i]) then kin.let_go(load(seqs[i])) else zput(kin.staged_of(each[2]), seqs[i], false) end
    end
    return done, #held <= budget
  end

  local DOING = {
    c = close_some, s = shed_some, f = free_some,
    a = function(each, budget) return kin.arm_some(each[2], budget) end,
    d = function(each, budget) return kin.drop_edges(each[2], budget) end,
  }

  -- One ripple after the other; what they set off joins the end. Gives those that are left.
  local function run(ripples, budget)
    local first = 1
    while ripples[first] and budget > 0 do
      local each = ripples[first]
      local units, done = DOING[each[1]](each, budget)
      budget = budget - units
      if done then first = first + 1 end
      for _, more in ipairs(kin.fresh) do ripples[#ripples + 1] = more end
      for i = #kin.fresh, 1, -1 do kin.fresh[i] = nil end
    end
    return first
  end

  local function member_of(each)
    if each[1] == 's' then return 's' .. each[2].seq .. struct.pack(SHED, each[3], each[4]) end
    return each[1] .. each[2]
  end

  local function leave_for_sweeps(ripples, first)
    for i = first, #ripples do
      local each = ripples[i]
      local member = member_of(each)
      local own = zsets[RIPPLES]
      local there = own and own[member]
      if there == nil then there = redis.call('ZSCORE', RIPPLES, member) end
      if each.number or not there then
        zput(RIPPLES, member, 2 * (each.number or draw()) + (each[1] == 'c' and each[3] and 1 or 0))
      end
    end
  end

  -- Do what this script has set off; what is over the bound is left. The bound never stops a script from
  -- seeing to one unit for each of its own ends.
  function kin.ripple_on(bound)
    local ripples = {}
    for i, each in ipairs(kin.fresh) do ripples[i] = each end
    for i = #kin.fresh, 1, -1 do kin.fresh[i] = nil end
    local ids = {}
    for _, each in ipairs(ripples) do
      if each[1] == 'c' then ids[#ids + 1] = each[2] end
    end
    if #ids > 1 then kin.fetch_edges(ids) end
    local first = run(ripples, math.max(bound, #ripples))
    leave_for_sweeps(ripples, first)
    ended.unswept = ended.unswept or first <= #ripples
  end

  local function read(member, score)
    local kind = string.sub(member, 1, 1)
    local each = {kind, string.sub(member, 2), score % 2 == 1, number = math.floor(score / 2)}
    if kind == 's' then
      each[2], each[3], each[4] = load(string.sub(member, 2, 7)), struct.unpack(SHED, member, 8)
    end
    return each
  end

  -- Go on with what was left, then with what this script has set off, up to the limit. Whether there is more.
  function kin.sweep_ripples(limit)
    local ripples, entries = {}, kin.range(RIPPLES, 0, math.huge, limit + 1)
    for _, entry in ipairs(entries) do
      zput(RIPPLES, entry[1], false)
      local each = read(entry[1], entry[2])
      if each[2] then ripples[#ripples + 1] = each end
    end
    for _, each in ipairs(kin.fresh) do ripples[#ripples + 1] = each end
    for i = #kin.fresh, 1, -1 do kin.fresh[i] = nil end
    local first = run(ripples, limit)
    leave_for_sweeps(ripples, first)
    return first <= #ripples or redis.call('ZCARD', RIPPLES) > #entries
  end

  -- A job that is driven again ends once more: who has not learnt of its last end waits for the next one.
  function kin.forget_close(id) zput(RIPPLES, 'c' .. id, false) end
end
