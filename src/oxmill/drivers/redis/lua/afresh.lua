-- Shared: a fresh start for a job that failed or was cancelled.
-- Guarantee: behind the line, with no failures, crashes, result or error, and without an expiry; the
-- attempt number goes on. A job of a flow is held again, for its stage or for what it is after.
-- KEYS: those of keys.py.
-- ARGV: none.
-- Result: `kin.start_afresh`.
kin.parts[#kin.parts + 1] = function()
  local STAGE, RESUME, WAIT = 32, 34, 35

  local function in_its_flow(job)
    local s = job.s
    if not kin.awaited(job.id) then
      local flow = kin.flow(s[FLOW])
      flow.bad = flow.bad - 1
      kin.change_flow(flow)
    end
    kin.forget_close(job.id)
    s[RESUME], s[WAIT] = '', ''
    set_aside(job, 'j', false)
    local stage, after = kin.in_unpublished(s[STAGE]), aside(job, 'a')
    kin.enter(job)
    if after then kin.arm(job, after, 0) end
    if not stage and not after then
      line_up(job, now)
      kin.filled[s[QUEUE]] = true
      return
    end
    s[DUE] = now - s[ENQUEUED]
    if stage then
      kin.hold(stage, job)
    else
      kin.begin(job)
    end
  end

  function kin.start_afresh(job)
    local s = job.s
    remember_attempt(job)
    set_result(job, false)
    set_aside(job, 'e', false)
    leave(job)
    s[FAILURES], s[CRASHES], s[MARK], s[ENDED_AT], s[CANCEL] = 0, 0, 0, 0, 0
    s[REASON], s[EXPIRES], s[STATE] = '', 0, HELD
    join(job)
    if s[FLOW] == '' then line_up(job, now) else in_its_flow(job) end
  end
end
