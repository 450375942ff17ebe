-- Shared: attempts end, jobs end, leases lapse.
-- Guarantee: a job that ends gives its key on, is counted once, and is kept or deleted as its queue
-- says, in one step.
-- KEYS: ENDED.
-- ARGV: none.
-- Result: the functions below.
local LAPSE = 'lapse'

local function finish_attempt(job, outcome, failure)
  local s = job.s
  s[FINISHED], s[OUTCOME], s[MARK] = now, outcome, 1
  if failure then
    set_aside(job, 'e', failure)
    s[ERROR_OF] = s[ATTEMPT]
  end
end

-- Whether others may start because this job runs no longer.
local function frees(job)
  local settings = groups.settings(job.s[QUEUE])
  if (settings[5] or -1) >= 0 then return true end
  return groups.of(job) ~= '' and ((settings[8] or -1) >= 0 or settings[11] == 1)
end

local kept, finish, lapse
do
  -- For how long to keep a job that has ended.
  kept = function(job)
    local s = job.s
    if s[KEEP] >= 0 then return s[KEEP] end
    return groups.settings(s[QUEUE])[s[STATE] - RUNNING]
  end

  -- Gives the queue in which the heir of its key waits now, if one does.
  finish = function(job, state, reason)
    local s = job.s
    leave(job)
    s[STATE], s[LEASED], s[REASON], s[ENDED_AT] = state, 0, reason, now
    tally(ever_of(s), 1)
    ended[#ended + 1] = job.id
    if state == FAILED then tell('failed', text_of(job.id), '', reason) end
    local keep = s[FLOW] ~= '' and -1 or kept(job)
    if keep < 0 then
      -- Kept as long as its flow.
      join(job)
      kin.ended(job)
    elseif keep == 0 then
      erase(job)
    else
      join(job)
      zput(ENDED, job.seq, now + keep)
    end
    return give_back_key(job)
  end

  -- Reads as `model.settlement.poison` writes it.
  local function poison(crashes)
    return '{"type":"Poison","message":"the lease lapsed ' .. crashes .. ' times: each time the ' ..
      'worker crashed, froze or was cut off while it ran this job","traceback":""}'
  end

  lapse = function(job)
    local s = job.s
    if frees(job) then gain(s[QUEUE]) end
    s[CRASHES] = s[CRASHES] + 1
    finish_attempt(job, LAPSE)
    tell(LAPSE, text_of(job.id), '', s[WORKER])
    if s[CANCEL] == 1 then
      finish(job, CANCELLED, s[REASON])
    elseif s[CRASHES] >= s[CRASH_LIMIT] then
      set_aside(job, 'e', poison(s[CRASHES]))
      s[ERROR_OF] = 0
      finish(job, FAILED, 'poison')
    else
      move(job, WAITING)
      s[LEASED] = 0
    end
  end
end

-- Whether this token still holds the job; brings a lapsed lease back if nobody claimed it.
local function held_by(job, attempt, nonce)
  local s = job.s
  if s[ATTEMPT] ~= attempt or s[NONCE] ~= nonce then return false end
  if s[STATE] == WAITING and s[MARK] == 1 and s[OUTCOME] == LAPSE then
    s[FINISHED], s[MARK], s[LEASED] = 0, 0, now
    move(job, RUNNING)
  end
  return s[STATE] == RUNNING
end
