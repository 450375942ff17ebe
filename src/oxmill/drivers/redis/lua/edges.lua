-- Shared: waiting for other jobs. Edges are made, closed and judged here.
-- Guarantee: an edge closes once, and closing it is what counts; what decides is `rules/join.py`.
-- KEYS: OVERDUE.
-- ARGV: none.
-- Result: `kin.arm`, `kin.lay`, `kin.begin`, `kin.close` and what they need. What a job is after comes as 14 bytes
-- for the join (policy, quorum, on failure, deadline + 1) and the ids, each after its length.
-- A script makes or forgets at most `EDGES_AT_ONCE` edges; the others follow in ripples, and until they are
-- made the wait has not begun. A job's open edges have positive scores in `up:NUMBER`, closed ones negative: twice (wait, position),
-- plus one if the upstream has succeeded.
kin.parts[#kin.parts + 1] = function()
  local WAIT = 35
  local JOIN, JOIN_SIZE, ROUND_SIZE = '>BI4BI8', 14, 16777216
  local ALL_SUCCEED, ALL_END, ANY = 0, 1, 2
  local ROUND, GOOD, BAD, OPEN, LATE, POLICY, QUORUM, ON_FAILURE, DEADLINE = 1, 2, 3, 4, 5, 6, 7, 8, 9
  -- While edges are still to be made: how many there are, and where in the text the next id starts.
  local LAID, NEXT = 10, 11
  local EDGES_AT_ONCE = 250
  local edges_left = EDGES_AT_ONCE

  -- Up to so many ids from this place on, and where the next one starts.
  local function ids_in(text, at, most)
    local ids = {}
    while at <= #text and #ids < most do
      local size = string.byte(text, at)
      ids[#ids + 1] = string.sub(text, at + 1, at + size)
      at = at + 1 + size
    end
    return ids, at
  end

  function kin.text_from(ids)
    local parts = {}
    for i, id in ipairs(ids) do parts[i] = string.char(#id) .. id end
    return table.concat(parts)
  end

  local function up_of(seq) return ROOT .. ':up:' .. seq end

  local scores = {}

  local function fetch_scores(seq, ids)
    local known = scores[seq] or {}
    scores[seq] = known
    for first = 1, #ids, CHUNK do
      local some = {unpack(ids, first, math.min(first + CHUNK - 1, #ids))}
      for i, score in ipairs(redis.call('ZMSCORE', up_of(seq), unpack(some))) do
        if known[some[i]] == nil then known[some[i]] = score and tonumber(score) end
      end
    end
  end

  local function score_of(job, id)
    local known = scores[job.seq]
    if not known or known[id] == nil then
      if job.new then return nil end
      fetch_scores(job.seq, {id})
      known = scores[job.seq]
    end
    return known[id] or nil
  end

  local function put_score(seq, id, score)
    scores[seq] = scores[seq] or {}
    scores[seq][id] = score
    zput(up_of(seq), id, score)
  end

  -- Read at once what the ends of these jobs will ask for, one dependent after the other.
  function kin.fetch_edges(ids)
    kin.fetch_below(ids)
    local wanted, seqs = {}, {}
    for _, id in ipairs(ids) do
      local open = kin.below(id).open
      if #open == NUMBER_SIZE then
        if not wanted[open] then
          wanted[open] = {}
          seqs[#seqs + 1] = open
        end
        table.insert(wanted[open], id)
      end
    end
    load_all(seqs)
    for _, seq in ipairs(seqs) do fetch_scores(seq, wanted[seq]) end
  end

  local function take_out(text, seq)
    for at = 1, #text, NUMBER_SIZE do
      if string.sub(text, at, at + NUMBER_SIZE - 1) == seq then
        return string.sub(text, 1, at - 1) .. string.sub(text, at + NUMBER_SIZE)
      end
    end
    return text
  end

  local function put_in(text, seq)
    local at = #text
    while at > 0 and string.sub(text, at - NUMBER_SIZE + 1, at) > seq do at = at - NUMBER_SIZE end
    return string.sub(text, 1, at) .. seq .. string.sub(text, at + 1)
  end

  -- A job that failed and that nobody waits for speaks against its flow.
  local function speak(id, change)
    local job = by_id(id)
    if not job or job.s[FLOW] == '' or job.s[STATE] < FAILED then return end
    local flow = kin.flow(job.s[FLOW])
    flow.bad = flow.bad + change
    kin.change_flow(flow)
  end

  local function put_edge(job, id, round, position, ok, failed)
    local before, below = score_of(job, id), kin.below(id)
    if before then
      below.open, below.closed = take_out(below.open, job.seq), take_out(below.closed, job.seq)
    elseif failed and below.open == '' and below.closed == '' then
      speak(id, -1)
    end
    local base = 2 * (round * ROUND_SIZE + position)
    if ok == nil then
      below.open = put_in(below.open, job.seq)
    else
      below.closed = below.closed .. job.seq
      base = -base - (ok and 1 or 0)
    end
    kin.change_below(id)
    put_score(job.seq, id, base)
  end

  -- Forget up to so much of what a job waited for. Gives how much, and whether that was all.
  function kin.drop_edges(seq, most)
    local ids, lonely, edges = {}, {}, kin.range(up_of(seq), -math.huge, math.huge, most + 1)
    for i = 1, math.min(most, #edges) do ids[i] = edges[i][1] end
    kin.fetch_below(ids)
    for _, id in ipairs(ids) do
      local below = kin.below(id)
      below.open, below.closed = take_out(below.open, seq), take_out(below.closed, seq)
      kin.change_below(id)
      if not kin.awaited(id) then lonely[#lonely + 1] = id end
      put_score(seq, id, false)
    end
    if #lonely > 0 then by_ids(lonely) end
    for _, id in ipairs(lonely) do speak(id, 1) end
    return #ids, #edges <= most
  end

  function kin.drop_edges_into(job)
    local dropped, all = kin.drop_edges(job.seq, edges_left)
    edges_left = edges_left - dropped
    if not all then kin.fresh[#kin.fresh + 1] = {'d', job.seq} end
  end

  -- Whether a job is held for a join.
  function kin.waits(job) return job.s[STATE] == HELD and job.s[WAIT] ~= '' end

  -- Open edges of one wait behind a position.
  function kin.open_edges(job, round, past, limit)
    local low = 2 * (round * ROUND_SIZE + past + 1)
    return kin.range(up_of(job.seq), low, 2 * (round + 1) * ROUND_SIZE - 1, limit)
  end

  function kin.position_of(score) return math.floor(score / 2) % ROUND_SIZE end

  -- Whether a job waits for another through others: then neither could ever end.
  local function behind(upstream, job)
    local seen, ahead = {[upstream.id] = true}, {upstream}
    while #ahead > 0 do
      local each = table.remove(ahead)
      if each.id == job.id then return true end
      if kin.waits(each) then
        for _, edge in ipairs(kin.open_edges(each, each.s[WAIT][ROUND], 0, 1000000)) do
          local other = not seen[edge[1]] and by_id(edge[1])
          seen[edge[1]] = true
          if other then ahead[#ahead + 1] = other end
        end
      end
    end
    return false
  end

  -- The states of jobs, and which of them are of this flow. Records are not unpacked for it: the state is
  -- what a standing begins with, and the index knows who is of a flow.
  local function look_at(ids, flow)
    local states, mine, seqs, places = {}, {}, {}, {}
    local own, unknown = hashes[IDS] or {}, {}
    for _, id in ipairs(ids) do
      if own[id] == nil and seqs_by_id[id] == nil then unknown[#unknown + 1] = id end
    end
    if #unknown > 0 then by_id_numbers(unknown) end
    for i, id in ipairs(ids) do
      local seq = number_of(id)
      local job = seq and jobs[seq]
      if job then
        states[i], mine[i] = job.s[STATE], job.s[FLOW] == flow
      elseif seq and job == nil then
        seqs[#seqs + 1], places[#places + 1] = seq, i
      end
    end
    for first = 1, #seqs, CHUNK do
      local some = {unpack(seqs, first, math.min(first + CHUNK - 1, #seqs))}
      local members = redis.call('ZMSCORE', ROOT .. ':members:' .. flow, unpack(some))
      for i, blob in ipairs(redis.call('HMGET', JOBS, unpack(some))) do
        local place = places[first + i - 1]
        if blob then
          local start = 8 + string.byte(blob)
          local kind = string.byte(blob, start)
          states[place] = string.byte(blob, start + (kind == 220 and 3 or 1))
          mine[place] = members[i] ~= false
        end
      end
    end
    return states, mine
  end

  -- How a job stands that another is about to wait for.
  local function standing(job, id, wanted, state, mine)
    if not state or not mine or id == job.id then return false end
    if wanted and state == HELD then
      local other = by_id(id)
      if kin.waits(other) and behind(other, job) then return false end
    end
    if state <= RUNNING then return nil end
    return state == SUCCEEDED
  end

  -- Make up to so many edges of a wait. A job that is not there, is of another flow, or waits for this one,
  -- counts as failed; an edge of this wait that was closed by a success stays so. Positions begin with 1.
  -- Gives how many, and whether these were the last ones.
  function kin.lay(job, most)
    local wait = job.s[WAIT]
    local round, text = wait[ROUND], aside(job, wait[ROUND] == 0 and 'a' or 'j') or ''
    local ids, next_at = ids_in(text, wait[NEXT], most)
    local states, mine = look_at(ids, job.s[FLOW])
    kin.fetch_below(ids)
    job.new = job.new or redis.call('EXISTS', up_of(job.seq)) == 0
    if not job.new then fetch_scores(job.seq, ids) end
    local wanted, lowest = kin.below(job.id).open ~= '', -2 * round * ROUND_SIZE
    for i, id in ipairs(ids) do
      local ok, before = standing(job, id, wanted, states[i], mine[i]), score_of(job, id)
      if before and before < lowest and before > lowest - 2 * ROUND_SIZE and before % 2 == 1 then ok = true end
      put_edge(job, id, round, wait[LAID] + i, ok, (states[i] or 0) >= FAILED)
      local place = ok == nil and OPEN or ok and GOOD or BAD
      wait[place] = wait[place] + 1
    end
    wait[LAID], wait[NEXT] = wait[LAID] + #ids, next_at
    if next_at > #text then wait[LAID], wait[NEXT] = nil, nil end
    save(job)
    return #ids, next_at > #text
  end

  -- A job waits for those that stand aside as what it is after (the wait 0) or has spawned. What does not
  -- fit into this script is made in ripples.
  function kin.arm(job, join_text, round)
    local policy, quorum, on_failure, deadline = struct.unpack(JOIN, join_text)
    job.s[WAIT] = {round, 0, 0, 0, 0, policy, quorum, on_failure, deadline - 1, 0, round == 0 and JOIN_SIZE + 1 or 1}
    local laid, all = kin.lay(job, edges_left)
    edges_left = edges_left - laid
    if not all then kin.fresh[#kin.fresh + 1] = {'a', job.seq} end
  end

  local function met(wait)
    if wait[POLICY] == ALL_SUCCEED then return wait[OPEN] == 0 and wait[BAD] == 0 end
    if wait[POLICY] == ALL_END then return wait[OPEN] == 0 end
    if wait[POLICY] == ANY then return wait[GOOD] > 0 or wait[OPEN] + wait[BAD] == 0 end
    return wait[GOOD] >= wait[QUORUM]
  end

  local function lost(wait)
    if wait[POLICY] == ALL_SUCCEED then return wait[BAD] > 0 end
    if wait[POLICY] == ALL_END then return false end
    if wait[POLICY] == ANY then return wait[OPEN] == 0 end
    return wait[GOOD] + wait[OPEN] < wait[QUORUM]
  end

  local function forget_deadline(job)
    local wait = job.s[WAIT]
    if wait ~= '' and wait[LATE] > 0 then
      zput(OVERDUE, job.seq, false)
      wait[LATE] = 0
    end
  end
  kin.forget_deadline = forget_deadline

  -- The job waits in line, or for its due time.
  function kin.free(job)
    job.s[REASON] = ''
    line_up(job, due_at(job))
    if job.s[STATE] == WAITING then kin.filled[job.s[QUEUE]] = true end
  end

  -- The join is over.
  local function fire(job)
    local wait = job.s[WAIT]
    forget_deadline(job)
    job.s[WAIT] = ''
    kin.free(job)
    if wait[OPEN] > 0 and wait[ON_FAILURE] == 0 then kin.fresh[#kin.fresh + 1] = {'s', job, wait[ROUND], 0} end
  end

  -- Let a waiting job go, or end it, if its join says so. What is staged, or has edges to come, is judged later.
  local function judge_join(job)
    local wait = job.s[WAIT]
    if job.s[REASON] == 'staged' or wait[LAID] then return end
    local over = lost(wait)
    if met(wait) or (over and wait[ON_FAILURE] > 0 and wait[OPEN] == 0) then
      fire(job)
    elseif over and wait[ON_FAILURE] == 0 then
      finish(job, FAILED, 'dependency')
    end
  end

  -- The wait begins now: its deadline is set, and it may be over at once. If edges are to come, it begins
  -- with the last of them.
  function kin.begin(job)
    local wait = job.s[WAIT]
    if wait[LAID] then return end
    if wait[DEADLINE] >= 0 then
      wait[LATE] = now + wait[DEADLINE]
      zput(OVERDUE, job.seq, wait[LATE])
      save(job)
    end
    if wait[OPEN] + wait[GOOD] + wait[BAD] == 0 then fire(job) else judge_join(job) end
  end

  -- Whether a job is held for the join that an edge into it belongs to.
  local function waits_by(job, id)
    return kin.waits(job) and math.floor(math.abs(score_of(job, id)) / 2 / ROUND_SIZE) == job.s[WAIT][ROUND]
  end

  -- Close an open edge, and let its dependent see whether its wait is over.
  function kin.close(job, id, ok)
    local counts = waits_by(job, id)
    put_score(job.seq, id, -score_of(job, id) - (ok and 1 or 0))
    if not counts then return end
    local wait = job.s[WAIT]
    local place = ok and GOOD or BAD
    wait[OPEN], wait[place] = wait[OPEN] - 1, wait[place] + 1
    save(job)
    judge_join(job)
  end

  -- Whether somebody waits for this job.
  function kin.wanted(id)
    local open = kin.below(id).open
    for at = 1, #open, NUMBER_SIZE do
      local job = load(string.sub(open, at, at + NUMBER_SIZE - 1))
      if job and waits_by(job, id) then return true end
    end
    return false
  end

  -- Go on with the edges of a wait. If the job has ended meanwhile, they are made only for it to let go of
  -- those at their other ends.
  function kin.arm_some(seq, budget)
    local job = load(seq)
    local wait = job and job.s[WAIT] or ''
    if wait == '' or not wait[LAID] or (job.s[STATE] ~= HELD and not kin.sheds(job)) then return 0, true end
    local laid, all = kin.lay(job, budget)
    if all and job.s[STATE] ~= HELD then
      kin.fresh[#kin.fresh + 1] = {'s', job, wait[ROUND], 0}
    elseif all and job.s[REASON] ~= 'staged' then
      kin.begin(job)
    end
    return laid, all
  end

  -- What a join does at its deadline.
  function kin.give_up(job)
    if job.s[WAIT][ON_FAILURE] > 0 then
      fire(job)
    else
      finish(job, FAILED, 'deadline')
    end
  end

  function kin.is_late(job)
    return kin.waits(job) and job.s[WAIT][LATE] > 0 and job.s[WAIT][LATE] <= now
  end

  -- Whether a job that ended while it waited lets go of what it waited for.
  function kin.sheds(job)
    local wait = job.s[WAIT]
    if wait == '' or (wait[OPEN] == 0 and not wait[LAID]) then return false end
    if job.s[STATE] == FAILED then return wait[ON_FAILURE] == 0 end
    return wait[ROUND] > 0 or job.s[REASON] == 'sibling'
  end
end
