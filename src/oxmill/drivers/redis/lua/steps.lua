-- Shared: what a completion does to its flow.
-- Guarantee: fields are merged, next steps and children made, and a job that is to resume is held for its
-- children, in the step that ends its attempt.
-- KEYS: those of keys.py.
-- ARGV: none.
-- Result: `kin.read_step`, `kin.read_short_step`, `kin.step`.
kin.parts[#kin.parts + 1] = function()
  local STAGE, RESUME = 32, 34

  -- ARGV: {resume, publish, fields merged, next steps, children} in msgpack, the join as in edges.lua, then
  -- the fields and their values in turn, then the jobs as in intake.lua.
  function kin.read_step(at)
    local terms = cmsgpack.unpack(ARGV[at])
    local step = {resume = terms[1], publish = terms[2], join = ARGV[at + 1], merge = {}}
    at = at + 2
    for i = 1, 2 * terms[3] do step.merge[i] = ARGV[at + i - 1] end
    step.next, at = read_jobs(at + 2 * terms[3], terms[4])
    step.spawn, at = read_jobs(at, terms[5])
    return step, at
  end

  -- ARGV: as settle.lua says of a step in the short form. Nothing if there is none.
  function kin.read_short_step(kind, at)
    if not kind.stepped then return nil, at end
    local step = {resume = '', publish = '', join = '', merge = {}, next = {}, spawn = {}}
    for i, name in ipairs(kind.names) do step.merge[2 * i - 1], step.merge[2 * i] = name, ARGV[at + i - 1] end
    if kind.form then
      local head, tail = cut.next_record(kind.form, ARGV[at + kind.fields])
      step.next[1] = read_record(head, tail, SKIP)
    end
    return step, at + kind.size
  end

  -- A job without a flow becomes the first job of one with its own id, named after its task.
  local function belong(job)
    if job.s[FLOW] ~= '' then return end
    local id = text_of(job.id)
    kin.flow_of(id, about(job)[1], -1, {}, {})
    job.s[FLOW] = id
    kin.count(job.s, 1)
    zput(ROOT .. ':members:' .. id, job.seq, 0)
    kin.enter(job)
  end

  -- A child that is there counts as it is if it is live or has succeeded; one that was staged and never
  -- published is let go, and one that failed or was cancelled gets a fresh start.
  local function reuse(job)
    local stage, failed = kin.in_unpublished(job.s[STAGE]), job.s[STATE] >= FAILED
    if stage then
      zput(kin.staged_of(stage.name), job.seq, false)
      zput(kin.children_of(stage.name), job.id, false)
      job.s[STAGE] = ''
      save(job)
      if not failed then
        stage.live = stage.live - 1
        kin.change_stage(stage)
        kin.enter(job)
        kin.let_go(job)
      end
    end
    if failed then kin.start_afresh(job) end
  end

  -- New jobs of the same flow. Next steps that are there stay as they are.
  local function make(job, wanted, parent)
    local flow = job.s[FLOW]
    for _, new in ipairs(wanted) do
      local there = by_id(new.id)
      if not there then
        local made = kin.create(new, nil, flow, parent)
        if made.s[STATE] == WAITING then kin.filled[made.s[QUEUE]] = true end
      elseif parent ~= '' and there.s[FLOW] == flow then
        reuse(there)
      end
    end
  end

  local function without_repeats(staged, spawned)
    if #spawned == 0 then return staged end
    local ids, once = {}, {}
    for _, id in ipairs(staged) do
      once[id] = true
      ids[#ids + 1] = id
    end
    for _, new in ipairs(spawned) do
      if not once[new.id] then
        once[new.id] = true
        ids[#ids + 1] = new.id
      end
    end
    return ids
  end

  function kin.step(job, step)
    local s = job.s
    belong(job)
    kin.merge(s[FLOW], step.merge)
    make(job, step.next, '')
    local roll = step.resume ~= '' and #step.spawn == 0 and kin.roll_in(step.publish, job)
    local staged = roll and {} or kin.children_in(step.publish, job)
    make(job, step.spawn, text_of(job.id))
    if step.publish ~= '' then kin.publish(step.publish) end
    if step.resume == '' then return end
    local text = roll or kin.text_from(without_repeats(staged, step.spawn))
    s[RESUME] = step.resume
    set_aside(job, 'j', text ~= '' and text)
    leave(job)
    s[STATE], s[LEASED], s[REASON] = HELD, 0, 'children'
    join(job)
    kin.arm(job, step.join, s[ATTEMPT])
    kin.begin(job)
  end
end
