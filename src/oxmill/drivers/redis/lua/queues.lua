-- Guarantee: counts, totals, rules, settings and gates of these queues as of one moment. Writes nothing.
-- KEYS: those of keys.py.
-- ARGV: 3 how many groups are asked about, 4 in msgpack the targets of rules (scope:target) that are asked
-- about, none for all, 5 the job whose place is asked for or '', 6… these groups, then queues.
-- Result: {now, {rules on tasks, groups and fields: rule, when its throttle opens or 0…}, {first in line and
-- how many are before the job} or {}, then per queue
-- {counts of the 7 states, totals of the 3 ends, when the job at the head of the line was enqueued or 0,
-- settings or '', rules on record, {gates}, rule in force…}}. A gate is {running, room or -1, opens at or 0,
-- waiting, when its rate, its throttle and its closing open, each or 0}: the queue's, then each group's, if groups are asked about.
local LOOKED_AT = 100
local asked, targets = {unpack(ARGV, 6, 5 + ARGV[3])}, cmsgpack.unpack(ARGV[4])

-- The best-ranked waiting job, over the line, lanes and jobs set aside; of very many lanes the first.
local function head_of_line(queue)
  local keys = {line_of(queue)}
  for _, set in ipairs({groups.key('lanes', queue), groups.key('parked', queue, '1'), groups.key('parked', queue, '2')}) do
    for _, member in ipairs(redis.call('ZRANGE', set, 0, LOOKED_AT - 1)) do
      local group = groups.named(member)
      if group ~= '' then keys[#keys + 1] = groups.key('lane', queue, group) end
    end
  end
  for _, name in ipairs(redis.call('ZRANGE', groups.key('gates', queue), 0, LOOKED_AT - 1)) do
    keys[#keys + 1] = groups.key('aside', queue, name)
  end
  local best, best_score
  for _, key in ipairs(keys) do
    local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
    local score = tonumber(first[2])
    if score and (not best or score < best_score or (score == best_score and first[1] < best)) then
      best, best_score = first[1], score
    end
  end
  return best and load(seq_of(best))
end

local function tell_gate(queue, group)
  local running = group == '' and redis.call('ZCARD', leases_of(queue)) or groups.crew(queue, group)[1]
  local gate, room, opens = gates.of(queue, group, running), -1, 0
  local waiting = group == '' and 0 or redis.call('ZCARD', groups.key('lane', queue, group))
  local paced, throttled = 0, 0
  for _, valve in ipairs(gate.valves) do
    local left, until_then = gates.room(valve), gates.opens_at(valve)
    room = room < 0 and left or math.min(room, left)
    if left == 0 then
      opens = math.max(opens, until_then)
      if string.sub(valve[1], 1, 4) == 'rate' then paced = until_then else throttled = until_then end
    end
  end
  local asked_until = gates.closed_until(queue, group)
  if asked_until > now then
    room, opens = #gate.valves > 0 and 0 or -1, math.max(opens, asked_until)
  end
  return {running, room, opens, waiting, paced, throttled, asked_until > now and asked_until or 0}
end

local function tell_queue(queue)
  local fields = {}
  for _, state in ipairs({HELD, WAITING, SUCCEEDED, FAILED, CANCELLED}) do
    fields[#fields + 1] = 'now:' .. state .. ':' .. queue
  end
  for state = SUCCEEDED, CANCELLED do fields[#fields + 1] = 'ever:' .. state .. ':' .. queue end
  local t, told_gates = hmget(TALLIES, fields), {}
  for place = 1, #fields do t[place] = tonumber(t[place] or 0) end
  local job = head_of_line(queue)
  if #asked > 0 then told_gates[1] = tell_gate(queue, '') end
  for _, group in ipairs(asked) do told_gates[#told_gates + 1] = tell_gate(queue, group) end
  local row = {
    t[1], redis.call('ZCARD', due_of(queue)), redis.call('ZCARD', line_of(queue)) + t[2],
    redis.call('ZCARD', leases_of(queue)), t[3], t[4], t[5], t[6], t[7], t[8],
    job and job.s[ENQUEUED] or 0, redis.call('HGET', SETTINGS, queue) or '', 0, told_gates,
  }
  for _, kind in ipairs({'block', 'pause', 'throttle'}) do
    if gates.flag(kind .. ':queue:' .. queue) then row[13] = row[13] + 1 end
    if gates.rule(kind, 'queue', queue) then row[#row + 1] = gates.flag(kind .. ':queue:' .. queue) end
  end
  return row
end

local scoped = {}
if #asked > 0 then
  local names = {}
  for _, target in ipairs(targets) do
    for _, kind in ipairs({'block', 'pause', 'throttle'}) do
      local scope, name = string.match(target, '^(%a+):(.*)$')
      if gates.rule(kind, scope, name) then names[#names + 1] = kind .. ':' .. target end
    end
  end
  if #targets == 0 then
    names = redis.call('ZRANGEBYSCORE', ENDINGS, '(' .. string.format('%d', now), '+inf', 'LIMIT', 0, 1000)
  end
  for _, name in ipairs(names) do
    if not string.find(name, '^%a+:queue:') then
      local valve = gates.of_rule(name).valves[1]
      scoped[#scoped + 1] = gates.flag(name)
      scoped[#scoped + 1] = valve and gates.room(valve) == 0 and gates.opens_at(valve) or 0
    end
  end
end

-- Where a job stands in the line of its queue and group, if it does.
local function place_of(id)
  local job = id ~= '' and by_id(id)
  if not job or job.s[STATE] ~= WAITING or behind(job) then return {} end
  local queue, group = job.s[QUEUE], groups.of(job)
  local line = group == '' and line_of(queue) or groups.key('lane', queue, group)
  local ahead = redis.call('ZRANK', line, rank(job))
  local first = ahead and load(seq_of(redis.call('ZRANGE', line, 0, 0)[1]))
  return first and {first.id, ahead} or {}
end

local told = {now, scoped, place_of(ARGV[5])}
for i = 6 + ARGV[3], #ARGV do told[#told + 1] = tell_queue(ARGV[i]) end
return told
