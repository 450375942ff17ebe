-- Shared: jobs of flows go: purged, kept long enough, or staged and never published.
-- Guarantee: bounded work, oldest first; for those that wait for a job, its deletion is a failed end.
-- KEYS: RETIRED, ABANDONED.
-- ARGV: none.
-- Result: `kin.forget`, `kin.retire`.
kin.parts[#kin.parts + 1] = function()
  local STAGE = 32
  local STAGE_KEPT, AT_ONCE, TOGETHER = 86400000000, 100, 255

  function kin.forget(job)
    local s = job.s
    local flow, live = kin.flow(s[FLOW]), s[STATE] <= RUNNING
    if s[STATE] ~= SUCCEEDED and not kin.awaited(job.id) then
      flow.lost = flow.lost or flow.ended == 0
      if not live then flow.bad = flow.bad - 1 end
      kin.change_flow(flow)
    end
    if live and kin.below(job.id).open ~= '' then kin.fresh[#kin.fresh + 1] = {'c', job.id, false} end
    kin.forget_deadline(job)
    if s[STAGE] ~= '' and kin.stage(s[STAGE]) then
      zput(kin.staged_of(s[STAGE]), job.seq, false)
      zput(kin.children_of(s[STAGE]), job.id, false)
    end
    kin.drop_edges_into(job)
    remove(job)
    if live then kin.leave(job) end
  end

  -- At most `limit` of the jobs in this sorted set. Gives how many, and whether any are left.
  local function delete(key, limit)
    local found = kin.range(key, -math.huge, math.huge, limit + 1)
    local seqs, gone = {}, math.min(limit, #found)
    for i = 1, gone do seqs[i] = found[i][1] end
    table.sort(seqs)
    load_all(seqs)
    for _, seq in ipairs(seqs) do
      if load(seq) then kin.forget(load(seq)) else zput(key, seq, false) end
    end
    return gone, #found > gone
  end

  -- The flows to go by a member of RETIRED, and how many were looked at. It is a card, which is gone if the flow goes on;
  -- or, behind a byte that no card begins with, several cards and their sizes: there a flow that has gone on since will
  -- end at another time.
  local function flows_in(member, due)
    if string.byte(member) ~= TOGETHER then return {kin.flow(string.sub(member, NUMBER_SIZE + 1)) or nil}, 1 end
    local flows, looked, at = {}, 0, 2
    while at <= #member do
      local size = struct.unpack('>I2', member, at)
      local flow = kin.flow(string.sub(member, at + 2 + NUMBER_SIZE, at + 1 + size))
      if flow and flow.ended ~= 0 and kin.due(flow) == due then flows[#flows + 1] = flow end
      looked, at = looked + 1, at + 2 + size
    end
    return flows, looked
  end

  -- A flow, its stages and at most `limit` of its jobs. Gives how many jobs, and whether any are left.
  local function retire_flow(flow, limit)
    local gone, more = delete(ROOT .. ':members:' .. flow.id, limit)
    if more then return gone, true end
    for _, stage in ipairs(kin.range(kin.stages_of(flow.id), 0, 0, 1000000)) do
      kin.drop_stage(kin.stage(stage[1]))
    end
    kin.drop_flow(flow)
    return gone, false
  end

  -- A member goes once all its flows have gone.
  local function retire_flows(limit)
    local gone, looked = 0, 0
    for _, member in ipairs(kin.range(RETIRED, 0, now, AT_ONCE)) do
      if looked >= AT_ONCE then break end
      local flows, cards = flows_in(member[1], member[2])
      looked = looked + cards
      for _, flow in ipairs(flows) do
        local some, more = retire_flow(flow, limit - gone)
        gone = gone + some
        if more then return gone, true end
      end
      zput(RETIRED, member[1], false)
    end
    return gone, #kin.range(RETIRED, 0, now, 1) > 0
  end

  local function retire_stages(limit)
    local gone, left = 0, false
    local names = kin.range(ABANDONED, 0, now - STAGE_KEPT, AT_ONCE + 1)
    for i, name in ipairs(names) do
      local stage = i <= AT_ONCE and kin.stage(name[1])
      if stage then
        local some, more = delete(kin.staged_of(stage.name), limit - gone)
        gone, left = gone + some, left or more
        local flow = kin.flow(stage.flow)
        if not more then
          kin.drop_stage(stage)
          if not flow.published and #kin.range(kin.stages_of(flow.id), 0, 0, 1) == 0 then kin.drop_flow(flow) end
        end
      end
    end
    return gone, left or #names > AT_ONCE
  end

  -- Flows past their retention, then stages that nobody published within a day.
  function kin.retire(limit)
    local jobs, more = retire_flows(limit)
    local staged, more_staged = retire_stages(limit - jobs)
    return jobs + staged, more or more_staged
  end
end
