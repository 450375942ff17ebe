-- Shared: jobs of flows come in, by an enqueue or made by a settlement.
-- Guarantee: a job of a flow is in its index, counts for its flow or stage, and is held for its stage or
-- for what it is after, or waits in line, all in one step.
-- KEYS: those of keys.py.
-- ARGV: none.
-- Result: `kin.create`, `kin.stage_again`, `kin.roll_in`, `kin.children_in`, `kin.publish`.
kin.parts[#kin.parts + 1] = function()
  local PARENT, STAGE, READS = 31, 32, 33

  -- A stage remembers whose children it has, if they are all of one parent.
  local function add_child(stage, job)
    stage.count = stage.count + 1
    if stage.count == 1 then stage.parent = job.s[PARENT] end
    if stage.parent ~= job.s[PARENT] then stage.parent = '' end
    zput(kin.children_of(stage.name), job.id, stage.count)
    kin.enroll(stage, job.id)
    kin.change_stage(stage)
  end

  function kin.create(new, stage, flow, parent)
    local job = {seq = struct.pack(NUMBER, draw()), id = new.id, s = setmetatable({0, '', 0, now}, STANDING), new = true}
    take_content(job, new)
    local s, holds, has_after = job.s, stage and not stage.published, new.after ~= ''
    s[FLOW], s[PARENT], s[READS] = flow, parent, new.kin[3]
    if has_after then set_aside(job, 'a', new.after) end
    admit(job, (holds or has_after) and HELD or due_at(job) <= now and WAITING or SCHEDULED)
    if stage then
      s[STAGE] = stage.name
      if parent ~= '' then add_child(stage, job) end
    end
    kin.enter(job)
    if has_after then kin.arm(job, new.after, 0) end
    if holds then
      kin.hold(stage, job)
    elseif has_after then
      kin.begin(job)
    end
    return job
  end

  local function member_score(key, member)
    local own = zsets[key]
    if own and own[member] ~= nil then return own[member] end
    return tonumber(redis.call('ZSCORE', key, member) or nil)
  end

  local function come_along(stage, other, job)
    zput(kin.staged_of(other.name), job.seq, false)
    zput(kin.children_of(other.name), job.id, false)
    if job.s[STATE] <= RUNNING then
      other.live, stage.live = other.live - 1, stage.live + 1
      kin.change_stage(other)
      kin.change_stage(stage)
      kin.hold(stage, job)
    else
      job.s[STAGE] = stage.name
      zput(kin.staged_of(stage.name), job.seq, 0)
      save(job)
    end
  end

  -- A job that is there is staged once more, as by a parent that is tried again. It comes along from
  -- another stage that nobody published. A child that failed gets a fresh start with this stage; one that is
  -- live or has succeeded counts as it is.
  function kin.stage_again(stage, new, job)
    local s, parent = job.s, new.kin[2]
    if s[FLOW] ~= stage.flow or member_score(kin.staged_of(stage.name), job.seq) == 1
      or member_score(kin.children_of(stage.name), job.id) then
      return
    end
    local other = kin.in_unpublished(s[STAGE])
    if other and not stage.published then
      come_along(stage, other, job)
    elseif parent ~= '' and s[STATE] >= FAILED then
      if other then zput(kin.staged_of(other.name), job.seq, false) end
      s[STAGE] = stage.name
      kin.start_afresh(job)
    end
    if parent ~= '' then add_child(stage, job) end
  end

  -- The children that were staged under this name, as a wait takes them, if they are all this parent's and
  -- nothing has become of them since.
  function kin.roll_in(name, parent)
    local stage = kin.stage(name)
    return stage and stage.parent == text_of(parent.id) and kin.take_roll(stage) or nil
  end

  -- The children that were staged under this name for this parent, in order.
  function kin.children_in(name, parent)
    local found, ids, key = {}, {}, kin.children_of(name)
    if name == '' or not kin.stage(name) then return found end
    if zsets[key] then
      for i, child in ipairs(kin.range(key, 0, math.huge, 1000000)) do ids[i] = child[1] end
    else
      ids = redis.call('ZRANGEBYSCORE', key, 0, '+inf')
    end
    local text = text_of(parent.id)
    if kin.stage(name).parent == text then return ids end
    by_ids(ids)
    for _, id in ipairs(ids) do
      local job = by_id(id)
      if job and job.s[PARENT] == text then found[#found + 1] = id end
    end
    return found
  end

  -- All jobs of the stage will run. They are let go in a ripple.
  function kin.publish(name)
    local stage = kin.stage(name)
    if not stage or stage.published then return end
    stage.published = true
    zput(ABANDONED, name, false)
    local flow = kin.flow(stage.flow)
    kin.publish_flow(flow)
    flow.live = flow.live + stage.live
    kin.change_flow(flow)
    if stage.live > 0 then kin.open_again(flow) end
    stage.live = 0
    kin.change_stage(stage)
    if #kin.range(kin.staged_of(name), 1, 1, 1) > 0 then kin.fresh[#kin.fresh + 1] = {'f', name} end
    kin.settle_accounts(flow)
  end
end
