-- Shared: who holds a unique key.
-- Guarantee: at most one holder and one successor per key; a key outlives its holder only for as
-- long as it was asked to.
-- KEYS: UNIQUES, HOLDS.
-- ARGV: none.
-- Result: the functions below. A claimant is {holder, live, held until or -1, successor or ''}.
local HOLDER, LIVE, HELD_UNTIL, SUCCESSOR = 1, 2, 3, 4
local STARTED = 1

local function claimant_of(key)
  local packed = hget(UNIQUES, key)
  return packed and cmsgpack.unpack(packed)
end

local function put_claimant(key, claimant)
  hput(UNIQUES, key, claimant and cmsgpack.pack(claimant))
end

local function taken(claimant)
  return claimant[LIVE] == 1 or claimant[HELD_UNTIL] > now or claimant[SUCCESSOR] ~= ''
end

local function hold_from(job, start)
  return job.s[WITHIN] >= 0 and start + job.s[WITHIN] or -1
end

local function take_key(job, start)
  put_claimant(job.s[KEY], {job.id, 1, hold_from(job, start), ''})
end

local function let_key_go(job)
  local key = job.s[KEY]
  local claimant = key ~= '' and claimant_of(key)
  if not claimant or claimant[HOLDER] ~= job.id then return end
  claimant[LIVE] = 0
  if taken(claimant) then
    put_claimant(key, claimant)
    if claimant[HELD_UNTIL] > now then zput(HOLDS, key, claimant[HELD_UNTIL]) end
  else
    put_claimant(key, false)
  end
end

-- An ended job gives its key to its successor, or back; an ended successor just leaves. Gives the queue
-- of an heir that waits now.
local function give_back_key(job)
  local key = job.s[KEY]
  local claimant = key ~= '' and claimant_of(key)
  if not claimant then return end
  if claimant[SUCCESSOR] == job.id then
    claimant[SUCCESSOR] = ''
    put_claimant(key, claimant)
  elseif claimant[HOLDER] == job.id and claimant[SUCCESSOR] ~= '' then
    local heir = by_id(claimant[SUCCESSOR])
    if not heir then
      claimant[SUCCESSOR] = ''
      put_claimant(key, claimant)
      return let_key_go(job)
    end
    take_key(heir, heir.s[ENQUEUED])
    heir.s[REASON] = ''
    line_up(heir, due_at(heir))
    return heir.s[STATE] == WAITING and heir.s[QUEUE] or nil
  end
  let_key_go(job)
end

local function forget_key(job)
  give_back_key(job)
  local claimant = job.s[KEY] ~= '' and claimant_of(job.s[KEY])
  if claimant and claimant[HOLDER] == job.id then put_claimant(job.s[KEY], false) end
end
