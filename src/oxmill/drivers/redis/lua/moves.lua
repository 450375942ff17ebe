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

local function field_of(name, value) return ROOT .. ':field:' .. name .. '=' .. value end
local function seq_of(member) return string.sub(member, -NUMBER_SIZE) end

-- Equal priorities are ranked by the member's text: place, then arrival.
local function rank(job)
  local place = job.s[PLACE]
  return place == 0 and job.seq or struct.pack(NUMBER, place) .. job.seq
end

local function due_at(job) return job.s[ENQUEUED] + job.s[DUE] end

local behind, leave, wait, stand_behind, prolong, join
do
  local function startable_until(s)
    return s[EXPIRES] > 0 and s[STATE] <= WAITING and s[ATTEMPT] == 0
  end

  -- The gate of its own behind which a job is set aside, if any: read once.
  behind = function(job)
    if job.gate == nil then job.gate = aside(job, 'b') end
    return job.gate
  end

  local function put_behind(job, gate)
    set_aside(job, 'b', gate)
    job.gate = gate
  end

  -- Where a waiting job stands: behind a gate of its own, in the line, or in the lane of its group.
  local function stand(job, group)
    local queue, gate = job.s[QUEUE], behind(job)
    if gate then return groups.key('aside', queue, gate), true end
    if group == '' then return line_of(queue), false end
    return groups.key('lane', queue, group), true
  end

  -- The lane of an ordered group may be parked because of a gate of the job at its head.
  local function look_again(queue, group)
    if groups.ordered(queue, group) then groups.open(queue, group) end
  end

  -- Unless it `stays` what it is to its group, others of that need not wait until it is tried again.
  local function step_out(job, group, stays)
    local s, key, counted = job.s, stand(job, group)
    zput(key, rank(job), false)
    if counted then tally(now_of(s), -1) end
    put_behind(job, false)
    if stays then return end
    look_again(s[QUEUE], group)
    if group ~= '' and due_at(job) > now then
      groups.reopen(s[QUEUE], group, due_at(job))
      gain(s[QUEUE])
    end
  end

  -- `stays` if it is claimed, or comes back at once and is not due at another time.
  leave = function(job, stays)
    local s, group = job.s, groups.of(job)
    local state, queue = s[STATE], s[QUEUE]
    if state == WAITING then
      step_out(job, group, stays)
    elseif state == SCHEDULED then
      zput(due_of(queue), job.seq, false)
    elseif state == RUNNING then
      zput(leases_of(queue), job.seq, false)
      if group ~= '' then groups.stop(queue, group) end
    else
      tally(now_of(s), -1)
      if state > RUNNING then zput(ENDED, job.seq, false) end
    end
    if startable_until(s) then zput(expiring_of(queue), job.seq, false) end
    kin.count(s, -1)
  end

  -- A lane is made by the first job that comes to wait in it, with the place of that job as its turn.
  wait = function(job, group)
    local s = job.s
    local key, counted = stand(job, group)
    zput(key, rank(job), s[PRIORITY])
    if counted then tally(now_of(s), 1) end
    if group == '' or behind(job) then return end
    if not groups.lane(s[QUEUE], group, s[PRIORITY]) then
      groups.make(s[QUEUE], group, s[PRIORITY], (struct.unpack(NUMBER, rank(job))))
    end
    look_again(s[QUEUE], group)
  end

  -- A waiting job goes behind a gate of its own, or back to where it stood if there is none.
  stand_behind = function(job, gate)
    local group = groups.of(job)
    step_out(job, group, true)
    put_behind(job, gate)
    wait(job, group)
    save(job)
  end

  -- The lease of a running job lasts until another moment.
  prolong = function(job)
    local s = job.s
    local queue, start = s[QUEUE], s[LEASED] - s[LEASE]
    zput(leases_of(queue), job.seq, s[LEASED])
    soon(queue, s[LEASED])
    if not granted[queue] or granted[queue] < start then granted[queue] = start end
    save(job)
  end

  join = function(job)
    local s, group = job.s, groups.of(job)
    local state, queue = s[STATE], s[QUEUE]
    if state == WAITING then
      wait(job, group)
      gain(queue)
    elseif state == SCHEDULED then
      zput(due_of(queue), job.seq, due_at(job))
      soon(queue, due_at(job))
    elseif state == RUNNING then
      prolong(job)
      if group ~= '' then groups.start(queue, group) end
    else
      tally(now_of(s), 1)
    end
    if startable_until(s) then
      zput(expiring_of(queue), job.seq, s[EXPIRES])
      soon(queue, s[EXPIRES])
    end
    kin.count(s, 1)
    save(job)
  end
end

local function move(job, state)
  leave(job)
  job.s[STATE] = state
  join(job)
end

-- To the end of the line, or among the scheduled if it is not due yet. `out` if it has left its place
-- already, so that it makes a lane only where it stays.
local function line_up(job, due, out)
  if not out then leave(job) end
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
    -- The mark of a list is no value.
    if fields[i + 1] ~= 'l' then zput(field_of(fields[i], fields[i + 1]), job.seq, present and 0) end
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
