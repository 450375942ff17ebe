-- Shared: the only place where a job changes its state, its line or its rank.
-- Guarantee: the sorted sets of a queue, the tallies and the job itself stay in step.
-- KEYS: those of keys.py; the sets of a queue are named after ROOT and so lie in its slot.
-- ARGV: none.
-- Result: the functions below.
local PAGE = 256

local now_of, ever_of, line_of, due_of, leases_of, expiring_of
do
  local function by_queue(kind)
    local known = {}
    return function(queue)
      local key = known[queue]
      if not key then
        key = ROOT .. ':' .. kind .. ':' .. queue
        known[queue] = key
      end
      return key
    end
  end

  local function by_state(kind)
    local known = {}
    return function(s)
      local state, queue = s[STATE], s[QUEUE]
      local fields = known[state]
      if not fields then
        fields = {}
        known[state] = fields
      end
      if not fields[queue] then fields[queue] = kind .. ':' .. state .. ':' .. queue end
      return fields[queue]
    end
  end

  now_of, ever_of = by_state('now'), by_state('ever')
  line_of, due_of = by_queue('line'), by_queue('due')
  leases_of, expiring_of = by_queue('leases'), by_queue('expiring')
end

-- How many jobs of a flow are in this state.
local function count_in_flow(s, change)
  if s[FLOW] ~= '' then tally('flow:' .. s[STATE] .. ':' .. s[FLOW], change) end
end

local function field_of(name, value) return ROOT .. ':field:' .. name .. '=' .. value end
local function seq_of(member) return string.sub(member, -NUMBER_SIZE) end

-- Equal priorities are ranked by the member's text: place, then arrival.
local function rank(job)
  local place = job.s[PLACE]
  return place == 0 and job.seq or struct.pack(NUMBER, place) .. job.seq
end

local function due_at(job) return job.s[ENQUEUED] + job.s[DUE] end

local function startable_until(s)
  return s[EXPIRES] > 0 and s[STATE] <= WAITING and s[ATTEMPT] == 0
end

local function leave(job)
  local s = job.s
  local state, queue = s[STATE], s[QUEUE]
  if state == WAITING then
    zput(line_of(queue), rank(job), false)
  elseif state == SCHEDULED then
    zput(due_of(queue), job.seq, false)
  elseif state == RUNNING then
    zput(leases_of(queue), job.seq, false)
  else
    tally(now_of(s), -1)
    if state > RUNNING then zput(ENDED, job.seq, false) end
  end
  if startable_until(s) then zput(expiring_of(queue), job.seq, false) end
  count_in_flow(s, -1)
end

-- The lease of a running job lasts until another moment.
local function prolong(job)
  local s = job.s
  local queue, start = s[QUEUE], s[LEASED] - s[LEASE]
  zput(leases_of(queue), job.seq, s[LEASED])
  soon(queue, s[LEASED])
  if not granted[queue] or granted[queue] < start then granted[queue] = start end
  save(job)
end

local function join(job)
  local s = job.s
  local state, queue = s[STATE], s[QUEUE]
  if state == WAITING then
    zput(line_of(queue), rank(job), s[PRIORITY])
    gain(queue)
  elseif state == SCHEDULED then
    zput(due_of(queue), job.seq, due_at(job))
    soon(queue, due_at(job))
  elseif state == RUNNING then
    prolong(job)
  else
    tally(now_of(s), 1)
  end
  if startable_until(s) then
    zput(expiring_of(queue), job.seq, s[EXPIRES])
    soon(queue, s[EXPIRES])
  end
  count_in_flow(s, 1)
  save(job)
end

local function move(job, state)
  leave(job)
  job.s[STATE] = state
  join(job)
end

-- To the end of the line, or among the scheduled if it is not due yet.
local function line_up(job, due)
  leave(job)
  job.s[DUE] = due - job.s[ENQUEUED]
  if due <= now then job.s[PLACE] = draw() end
  job.s[STATE] = due > now and SCHEDULED or WAITING
  join(job)
end

local function page_of(seq) return math.floor(struct.unpack(NUMBER, seq) / PAGE) end

local function index(job, present)
  local page = page_of(job.seq)
  pages[page] = (pages[page] or 0) + (present and 1 or -1)
  local flow = job.s[FLOW]
  if flow ~= '' then zput(ROOT .. ':members:' .. flow, job.seq, present and 0) end
end

local function index_fields(job, present)
  local letters = job.s[ASIDE]
  if letters == '' or not string.find(letters, 'f', 1, true) then return end
  local fields = about(job)[7]
  for i = 1, #fields, 2 do
    zput(field_of(fields[i], fields[i + 1]), job.seq, present and 0)
  end
end

local function admit(job, state)
  job.s[STATE] = state
  jobs[job.seq] = job
  hput(IDS, job.id, job.seq)
  named[job.s[QUEUE]] = true
  index(job, true)
  index_fields(job, true)
  join(job)
end

-- A job that has left its line is gone, with all that belongs to it.
local function erase(job)
  index(job, false)
  index_fields(job, false)
  forget_asides(job)
  hput(IDS, job.id, false)
  hput(JOBS, job.seq, false)
  dirty[job.seq] = nil
  jobs[job.seq] = false
end

local function remove(job)
  leave(job)
  erase(job)
end
