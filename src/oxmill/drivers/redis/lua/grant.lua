-- Shared by the two claims: jobs go out under a lease.
-- Guarantee: each job goes to one holder, with an attempt number never used before.
-- KEYS: RULES.
-- ARGV: 3 lease, 4 worker, 5 nonce.
-- Result: the functions below.
local function closed_of(queues)
  local closed, fields = {}, {}
  for _, queue in ipairs(queues) do
    fields[#fields + 1] = 'pause:queue:' .. queue
    fields[#fields + 1] = 'block:queue:' .. queue
  end
  if #fields == 0 then return closed end
  for i, packed in ipairs(hmget(RULES, fields)) do
    if packed then
      local expires = cmsgpack.unpack(packed)[1]
      if expires < 0 or expires > now then closed[queues[math.ceil(i / 2)]] = true end
    end
  end
  return closed
end

-- What a job reads of its flow's state, in the order of its fields.
local function fields_read(s)
  local names = {}
  for name in string.gmatch(string.sub(s[READS], 2), '[^\31]+') do names[#names + 1] = name end
  return #names > 0 and hmget(ROOT .. ':state:' .. s[FLOW], names) or names
end

local function grant(chosen)
  local lease, worker, nonce = tonumber(ARGV[3]), ARGV[4], ARGV[5]
  local leased = {}
  for i, job in ipairs(chosen) do
    local s = job.s
    remember_attempt(job)
    leave(job)
    s[STATE] = RUNNING
    s[ATTEMPT], s[NONCE], s[WORKER] = s[ATTEMPT] + 1, nonce, worker
    s[CLAIMED], s[LEASE], s[LEASED] = now, lease, now + lease
    s[REASON], s[OUTCOME], s[MARK] = '', '', 0
    join(job)
    if s[UNTIL] == STARTED and s[KEY] ~= '' then let_key_go(job) end
    local blob, payload, progress = written(job), false, false
    if s[ASIDE] ~= '' then payload, progress = aside(job, 'p'), aside(job, 'g') end
    if s[FLOW] ~= '' then
      leased[i] = {blob, payload, progress, aside(job, 'j'), unpack(fields_read(s))}
    else
      leased[i] = (payload or progress) and {blob, payload, progress} or blob
    end
  end
  return leased
end
