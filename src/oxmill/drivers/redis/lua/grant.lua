-- Shared by the two claims: jobs go out under a lease.
-- Guarantee: each job goes to one holder, with an attempt number never used before.
-- KEYS: RULES.
-- ARGV: 3 lease, 4 worker, 5 nonce.
-- Result: the functions below.
-- Those of the queues that no pause or block closes, and whether any of them may have gates.
local function open_of(queues)
  local open, flags = {}, {'scoped'}
  for _, queue in ipairs(queues) do flags[#flags + 1] = 'gated:queue:' .. queue end
  gates.fetch_rules('queue', queues, flags)
  local gated = gates.scoped()
  for _, queue in ipairs(queues) do
    if not gates.rule('pause', 'queue', queue) and not gates.rule('block', 'queue', queue) then
      open[#open + 1] = queue
      gated = gated or gates.flag('gated:queue:' .. queue)
    end
  end
  return open, gated
end

local function grant(chosen)
  local lease, worker, nonce = tonumber(ARGV[3]), ARGV[4], ARGV[5]
  local leased = {}
  for i, job in ipairs(chosen) do
    local s = job.s
    remember_attempt(job)
    leave(job, true)
    s[STATE] = RUNNING
    s[ATTEMPT], s[NONCE], s[WORKER] = s[ATTEMPT] + 1, nonce, worker
    s[CLAIMED], s[LEASE], s[LEASED] = now, lease, now + lease
    s[REASON], s[OUTCOME], s[MARK] = '', '', 0
    join(job)
    if s[UNTIL] == STARTED and s[KEY] ~= '' then let_key_go(job) end
    local blob, payload, progress = written(job), false, false
    if s[ASIDE] ~= '' then payload, progress = aside(job, 'p'), aside(job, 'g') end
    if s[FLOW] ~= '' then
      leased[i] = {blob, payload, progress, aside(job, 'j'), unpack(kin.fields_read(s))}
    else
      leased[i] = (payload or progress) and {blob, payload, progress} or blob
    end
  end
  return leased
end
