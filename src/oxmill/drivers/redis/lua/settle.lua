-- Guarantee: each item is judged by its token alone; what it changes (state, result, key, successor,
-- counts) changes in this one step. Works when the server is over its memory limit.
-- KEYS: those of keys.py.
-- ARGV: 3 the bound of ripples, before a ~ if all who listen to bells do so at this server, and after a p if all are
-- completions without an error or a step, then per item:
-- id, "attempt nonce letter" (n for a result of null, r for another, which follows, nothing for none). After an s
-- come what items share, then these. First how many forms of next steps there are, and per form: queue, priority, the
-- standing up to the time of enqueue, then up to the flow, then behind it, the description, the payload. Then how
-- many kinds of items there are, and per kind: "attempt nonce letter", the number of the next step's form (0 for none,
-- -1 for no step at all), how many fields are merged, and their names. Then per item: id, the number of its kind,
-- its result if the letter is r, the values of the fields, and the id of the next step. Otherwise per item: id, its
-- terms in msgpack {attempt, nonce, outcome, delay, reason, result?, error?, scope it closes, step?}, then the result
-- and the error if there are any, and what it does to its flow as in steps.lua.
-- Result: per item: ruling (0 gone, 1 lost, 2 won) * 10 + state, and 100 if others of its queue may start
-- because of it; queue, or {queue, queue in which a job was freed…}: the last one names those that flows
-- have filled. Or, if all are the same: minus their number, ruling, queue, the queue or queues of the last one.
make_way()

-- A function of its own: Lua allows for 200 names in one.
local function read_items()
  local items, ids, way = {}, {}, string.byte(ARGV[3])
  local at, kinds = 4, nil
  if way == 115 then kinds, at = cut.read_kinds() end
  while (way == 112 or way == 115) and at <= #ARGV do
    local kind = kinds and kinds[ARGV[at + 1]] or cut.terms_of(ARGV[at + 1])
    local item = {ARGV[at], {tonumber(kind.attempt), kind.nonce, 'complete', 0, ''}, kind.letter == 'n' and 'null'}
    items[#items + 1], ids[#ids + 1], at = item, ARGV[at], at + 2
    if kind.letter == 'r' then item[3], at = ARGV[at], at + 1 end
    if kinds then item[5], at = kin.read_short_step(kind, at) end
  end
  while at <= #ARGV do
    local terms = cmsgpack.unpack(ARGV[at + 1])
    local item = {ARGV[at], terms}
    at = at + 2
    if terms[6] == 1 then item[3] = ARGV[at]; at = at + 1 end
    if terms[7] == 1 then item[4] = ARGV[at]; at = at + 1 end
    if terms[9] == 1 then item[5], at = kin.read_step(at) end
    items[#items + 1], ids[#ids + 1] = item, item[1]
  end
  by_ids(ids)
  local in_flows = {}
  for _, id in ipairs(ids) do
    local job = by_id(id)
    if job and job.s[FLOW] ~= '' then in_flows[#in_flows + 1] = id end
  end
  if #in_flows > 1 then kin.fetch_below(in_flows) end
  return items
end

local settle
do
  local function either(a, b) return a ~= '' and a or b end

  -- Another try then. In an ordered group the job keeps its place, and the others wait too: until then, or
  -- until it leaves.
  local function again(job, due)
    local s, group = job.s, groups.of(job)
    if groups.ordered(s[QUEUE], group) then
      groups.close(s[QUEUE], group, due)
      move(job, WAITING)
      s[DUE] = due - s[ENQUEUED]
    else
      line_up(job, due)
    end
    s[LEASED] = 0
  end

  settle = function(job, terms, result, failure, step)
    local s, outcome, due = job.s, terms[3], now + terms[4]
    finish_attempt(job, outcome, failure)
    if outcome == 'retry' or outcome == 'fail' then s[FAILURES] = s[FAILURES] + 1 end
    if outcome == 'release' and (terms[8] or '') ~= '' then
      groups.close(s[QUEUE], terms[8] == 'group' and groups.of(job) or '', due)
    end
    local goes_on = step and step.resume ~= ''
    if step and not (goes_on and s[CANCEL] == 1) then return nil, true end
    if outcome == 'complete' and not goes_on then
      set_result(job, result)
      return finish(job, SUCCEEDED, '')
    elseif outcome == 'fail' then
      return finish(job, FAILED, either(terms[5], 'refused'))
    elseif outcome == 'cancel' then
      return finish(job, CANCELLED, either(terms[5], either(s[REASON], 'cancelled')))
    elseif s[CANCEL] == 1 then
      return finish(job, CANCELLED, s[REASON])
    elseif outcome == 'retry' and s[FAILURES] >= s[MAX_ATTEMPTS] then
      return finish(job, FAILED, 'exhausted')
    elseif outcome == 'release' then
      move(job, WAITING)
      s[LEASED] = 0
    else
      again(job, due)
    end
  end
end

local answers, stepping, seen = {}, {}, {}

-- What the jobs do to their flows, after all else; until then they run on paper.
local function take_steps()
  for _, each in ipairs(stepping) do
    local job, item = each.job, each.item
    kin.step(job, item[5])
    if job.s[STATE] == RUNNING then
      set_result(job, item[3])
      local heir = finish(job, SUCCEEDED, '')
      if heir then kin.filled[heir] = true end
    end
    answers[each.at] = answers[each.at] - RUNNING + job.s[STATE]
  end
  stepping, seen = {}, {}
end

for _, item in ipairs(read_items()) do
  local job, terms = by_id(item[1]), item[2]
  -- A job that comes again sees all that was asked before.
  if seen[item[1]] then take_steps() end
  seen[item[1]] = true
  local code, queue = 10, ''
  if not job then
    answers[#answers + 1], answers[#answers + 2] = 0, ''
  else
    local s = job.s
    queue = s[QUEUE]
    if held_by(job, terms[1], terms[2]) then
      local freed = frees(job)
      local heir, steps = settle(job, terms, item[3], item[4], item[5])
      if steps then stepping[#stepping + 1] = {job = job, item = item, at = #answers + 1} end
      if freed then gain(queue) end
      code = freed and 120 or 20
      queue = heir and {queue, heir} or queue
    elseif s[ATTEMPT] == terms[1] and s[NONCE] == terms[2] and s[MARK] == 1
      and s[OUTCOME] == terms[3] then
      code = 20
    end
    answers[#answers + 1], answers[#answers + 2] = code + s[STATE], queue
  end
end
take_steps()
kin.ripple(tonumber(string.match(ARGV[3], '%d+')))
local names, last = kin.gained(), answers[#answers]
if #names > 0 then
  local queues = type(last) == 'table' and last or {last}
  for _, name in ipairs(names) do queues[#queues + 1] = name end
  answers[#answers] = queues
end
flush()
ring()
return answers
