-- Guarantee: of the jobs looked at, none is left that stands nowhere: one that waits goes behind the line, one
-- that runs gets its lease back and so lapses in its time, one that has ended is kept as long as it was to be;
-- all are found by id, flow, field and arrival again. Whoever stands where it should is left alone.
-- KEYS: those of keys.py.
-- ARGV: 3 'mend', or 'look' to write nothing; 4 where to go on ('0' from the start).
-- Result: {where to go on ('0' at the end), how many jobs stood nowhere}.
local AT_ONCE = 100
local told = redis.call('HSCAN', JOBS, ARGV[4], 'COUNT', AT_ONCE)
local astray, queues, seen_pages = {}, {}, {}

local function has(key, member) return redis.call('ZSCORE', key, member) end

-- Whether a job has its place among those of its state.
local function in_place(job)
  local s, group = job.s, groups.of(job)
  local state, queue, gate = s[STATE], s[QUEUE], s[STATE] == WAITING and behind(job)
  if state == HELD then return true end
  if state == SCHEDULED then return has(due_of(queue), job.seq) end
  if state == RUNNING then return has(leases_of(queue), job.seq) end
  if state > RUNNING then return s[FLOW] ~= '' or has(ENDED, job.seq) end
  if gate then return has(groups.key('aside', queue, gate), rank(job)) and has(groups.key('gates', queue), gate) end
  if group == '' then return has(line_of(queue), rank(job)) end
  return has(groups.key('lane', queue, group), rank(job)) and groups.lane(queue, group, s[PRIORITY])
end

-- Whether people find it: by id, by its page, by its flow and its fields.
local function known(job)
  local page, flow = page_of(job.seq), job.s[FLOW]
  if not seen_pages[page] then seen_pages[page] = has(PAGES, page) and 'there' or 'lost' end
  if not number_of(job.id) or seen_pages[page] == 'lost' then return false end
  if flow ~= '' and not has(ROOT .. ':members:' .. flow, job.seq) then return false end
  local fields = string.find(job.s[ASIDE], 'f', 1, true) and about(job)[7] or {}
  for i = 1, #fields, 2 do
    if not has(field_of(fields[i], fields[i + 1]), job.seq) then return false end
  end
  return true
end

local function put_back(job)
  local s = job.s
  if s[STATE] == WAITING then
    line_up(job, now)
  elseif s[STATE] == SCHEDULED then
    line_up(job, due_at(job))
  elseif s[STATE] == RUNNING then
    prolong(job)
  else
    zput(ENDED, job.seq, s[ENDED_AT] + kept(job))
  end
end

-- How many jobs a page holds that is not on record.
local function recount(page)
  local seqs, count = {}, 0
  for number = page * PAGE, page * PAGE + PAGE - 1 do seqs[#seqs + 1] = struct.pack(NUMBER, number) end
  for _, blob in ipairs(hmget(JOBS, seqs)) do
    if blob then count = count + 1 end
  end
  hput(FILLED, string.format('%d', page), tostring(count))
  zput(PAGES, string.format('%d', page), page)
end

local function make_known(job)
  if not number_of(job.id) then hput(IDS, job.id, job.seq) end
  index_fields(job, true)
  if job.s[FLOW] ~= '' then zput(ROOT .. ':members:' .. job.s[FLOW], job.seq, 0) end
end

for i = 1, #told[2], 2 do
  local seq, whole, job = told[2][i], pcall(parse, told[2][i], told[2][i + 1])
  if whole then
    jobs[seq] = job
    local stands, is_known = in_place(job), known(job)
    if not stands or not is_known then astray[#astray + 1] = {job, stands, is_known} end
    queues[job.s[QUEUE]] = true
  end
end
if ARGV[3] == 'mend' then
  for _, each in ipairs(astray) do
    if not each[2] then put_back(each[1]) end
    if not each[3] then make_known(each[1]) end
  end
  for page, how in pairs(seen_pages) do
    if how == 'lost' then recount(page) end
  end
  local names = {}
  for queue in pairs(queues) do
    named[queue] = true
    names[#names + 1] = queue
  end
  flush()
  set_moments(names)
  ring()
end
return {told[1], #astray}
