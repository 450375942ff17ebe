-- Guarantee: those of the named jobs that a claim could grant now, in the order named; in an ordered
-- group only the first that waits. Lanes keep their turns.
-- KEYS: those of keys.py.
-- ARGV: 3 lease, 4 worker, 5 nonce, 6 bound of each clean-up, 7 of the jobs' queues so many are seen to already,
-- 8… ids.
-- Result: {now, 0, job…}; a job as in claim.lua. {now, n}: nothing is given yet, n queues are seen to, ask again
-- and say so.
make_way()
local ids = {unpack(ARGV, 8)}
local queues, seen = {}, {}
for _, job in ipairs(by_ids(ids)) do
  if job and not seen[job.s[QUEUE]] then
    seen[job.s[QUEUE]] = true
    queues[#queues + 1] = job.s[QUEUE]
  end
end
local seen = tidy(queues, tonumber(ARGV[6]), tonumber(ARGV[7]))
if seen < #queues then
  gained = kin.gained()
  ring()
  return {now, seen}
end

local places = {}
for _, queue in ipairs((open_of(queues))) do places[queue] = {} end

local function gate_of(queue, group)
  if not places[queue][group] then
    local used = group == '' and redis.call('ZCARD', leases_of(queue)) or groups.crew(queue, group)[1]
    places[queue][group] = gates.of(queue, group, used)
  end
  return places[queue][group]
end

-- All gates that this very job has to pass; nothing if its queue is closed.
local function gates_before(job)
  local queue, group = job.s[QUEUE], groups.of(job)
  if not places[queue] then return nil end
  local found = {gate_of(queue, '')}
  if group ~= '' then found[2] = gate_of(queue, group) end
  for _, name in ipairs(gates.names_of(job)) do found[#found + 1] = gates.of_rule(name) end
  return found
end

-- Whether no job of its ordered group waits before it.
local function first_in_group(job)
  local queue, group = job.s[QUEUE], groups.of(job)
  if not groups.ordered(queue, group) then return true end
  local keys = {groups.key('lane', queue, group)}
  for _, name in ipairs(redis.call('ZRANGE', groups.key('gates', queue), 0, 99)) do
    keys[#keys + 1] = groups.key('aside', queue, name)
  end
  local first = first_of(keys, 1, nil, function(each) return groups.of(each) == group and not too_late(each) end)
  return not first[1] or first[1] == job
end

local chosen = {}
for _, id in ipairs(ids) do
  local job = by_id(id)
  local before = job and job.s[STATE] == WAITING and not too_late(job) and gates_before(job)
  local open = before and first_in_group(job)
  for _, gate in ipairs(before or {}) do open = open and not gates.shut(gate) end
  if open then
    for _, gate in ipairs(before) do gates.pass(gate) end
    chosen[#chosen + 1] = job
  end
end
local leased = grant(chosen)
flush()
gained = kin.gained()
ring()
return {now, 0, unpack(leased)}
