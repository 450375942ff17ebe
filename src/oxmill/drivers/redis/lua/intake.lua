-- Shared: new jobs are judged one after the other.
-- Guarantee: a refused job writes nothing; whether the batch is written is up to the caller.
-- KEYS: those of keys.py.
-- ARGV: per job: id, its terms in msgpack, its description followed by its payload, and the payload
-- alone if it stands aside; of a job of a flow also {flow, parent, reads} in msgpack, and what it is
-- after as in edges.lua.
-- Result: the functions below. An answer is verdict * 10 + state, or {that, id} where another job
-- stands for the one asked for.
local CREATED, DUPLICATE, CONFLICT, ID_CONFLICT = 1, 2, 4, 5
local SKIP = 0
-- The terms, in the order of enqueueing.py: queue, size of the description, priority, delay, run
-- at, max attempts, crash limit, keep, expires in, key, until, within, on conflict, letters aside.
local TERMS = {__index = {'', 0, 0, 0, -1, 20, 3, -1, -1, '', 0, -1, 0, ''}}

-- The jobs from this argument on, as many as given or all; and where the next argument is.
local function read_jobs(at, count)
  local wanted = {}
  while at <= #ARGV and (not count or #wanted < count) do
    local terms = setmetatable(cmsgpack.unpack(ARGV[at + 1]), TERMS)
    local job = {id = ARGV[at], t = terms, rest = ARGV[at + 2]}
    at = at + 3
    if terms[14] ~= '' and string.find(terms[14], 'p', 1, true) then
      job.payload = ARGV[at]
      at = at + 1
    end
    if terms[14] ~= '' and string.find(terms[14], 'k', 1, true) then
      job.kin, job.after = cmsgpack.unpack(ARGV[at]), ARGV[at + 1]
      at = at + 2
    end
    wanted[#wanted + 1] = job
  end
  return wanted, at
end

-- A job as a short way takes it: its record up to the time of enqueue, and after it.
local function read_record(head, tail, on_conflict)
  local job = parse('', head .. struct.pack('>I8', now) .. tail)
  local s = job.s
  local terms = {s[QUEUE], job.about, s[PRIORITY], s[DUE], -1, s[MAX_ATTEMPTS], s[CRASH_LIMIT],
    s[KEEP], -1, s[KEY], s[UNTIL], s[WITHIN], on_conflict}
  return {id = job.id, t = setmetatable(terms, TERMS), rest = job.rest, kin = {s[FLOW], '', s[33]}, after = ''}
end

local function take_content(job, new)
  local s, t = job.s, new.t
  set_aside(job, 'p', new.payload or false)
  job.rest, job.about = new.rest, t[2]
  s[QUEUE], s[PRIORITY] = t[1], t[3]
  s[DUE] = (t[5] >= 0 and t[5] or now + t[4]) - s[ENQUEUED]
  s[MAX_ATTEMPTS], s[CRASH_LIMIT], s[KEEP] = t[6], t[7], t[8]
  s[EXPIRES] = t[9] >= 0 and now + t[9] or 0
  s[KEY], s[UNTIL], s[WITHIN] = t[10], t[11], t[12]
  if s[ASIDE] ~= '' then s[ASIDE] = (string.gsub(s[ASIDE], 'f', '')) end
  if t[14] ~= '' and string.find(t[14], 'f', 1, true) then s[ASIDE] = s[ASIDE] .. 'f' end
end

local function same(job, new)
  if job.s[QUEUE] ~= new.t[1] then return false end
  local _, parts = cmsgpack.unpack_one(new.rest, 0)
  local payload = new.payload or string.sub(new.rest, new.t[2] + 1)
  return about(job)[1] == parts[1] and payload_of(job) == payload
end

local judge
do
  local REPLACED, RAISE, RERUN = 3, 1, 3

  local function answer(verdict, job, asked)
    local code = verdict * 10 + (job and job.s[STATE] or 0)
    return asked and {code, asked} or code
  end

  local function create(new, held)
    local seq = struct.pack(NUMBER, draw())
    local job = {seq = seq, id = new.id, s = setmetatable({0, '', 0, now}, STANDING)}
    take_content(job, new)
    admit(job, held and HELD or due_at(job) <= now and WAITING or SCHEDULED)
    return job
  end

  local function replace(job, new)
    local s = job.s
    local queue = s[QUEUE]
    leave(job)
    index_fields(job, false)
    take_content(job, new)
    -- Whoever ran the old content must not come back and complete the new one.
    if s[OUTCOME] == LAPSE then s[MARK] = 0 end
    index_fields(job, true)
    named[s[QUEUE]] = true
    local stays = s[STATE] == WAITING and queue == s[QUEUE] and due_at(job) <= now
    if s[STATE] == HELD or stays then
      join(job)
    else
      line_up(job, due_at(job), true)
    end
  end

  -- The holder of the key runs: at most one job follows it.
  local function follow(new, claimant)
    local successor = claimant[SUCCESSOR] ~= '' and by_id(claimant[SUCCESSOR])
    if not successor then
      local job = create(new, true)
      job.s[REASON] = 'rerun'
      claimant[SUCCESSOR] = job.id
      put_claimant(new.t[10], claimant)
      return answer(CREATED, job)
    end
    if new.t[13] == RERUN then return answer(DUPLICATE, successor, successor.id) end
    replace(successor, new)
    return answer(REPLACED, successor, successor.id)
  end

  local function contest(new, claimant)
    local id, mode = claimant[HOLDER], new.t[13]
    local holder = by_id(id)
    -- The holder may be gone, and its id used again.
    if holder and holder.s[KEY] ~= new.t[10] then holder = nil end
    if mode == RAISE then return answer(CONFLICT, holder, id) end
    if mode == SKIP or not holder or holder.s[STATE] > RUNNING then
      return answer(DUPLICATE, holder, id)
    end
    -- A job that has begun a flow has started.
    if holder.s[STATE] == RUNNING or holder.s[FLOW] ~= '' then return follow(new, claimant) end
    if mode == RERUN then return answer(DUPLICATE, holder, id) end
    replace(holder, new)
    claimant[HELD_UNTIL] = new.t[12] >= 0 and now + new.t[12] or -1
    put_claimant(new.t[10], claimant)
    return answer(REPLACED, holder, id)
  end

  judge = function(new)
    local there = by_id(new.id)
    if there then return answer(same(there, new) and DUPLICATE or ID_CONFLICT, there) end
    local key = new.t[10]
    if key ~= '' then
      local claimant = claimant_of(key)
      -- A live holder that is gone was lost by damage from outside: its key is free.
      if claimant and claimant[LIVE] == 1 and not by_id(claimant[HOLDER]) then claimant[LIVE] = 0 end
      if claimant and taken(claimant) then return contest(new, claimant) end
    end
    local job = create(new, false)
    if key ~= '' then take_key(job, now) end
    return answer(CREATED, job)
  end
end

local function verdict_of(given)
  return math.floor((type(given) == 'table' and given[1] or given) / 10)
end
