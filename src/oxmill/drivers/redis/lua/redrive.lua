-- Guarantee: failed and cancelled jobs among those that match wait again, behind the line, with
-- fresh counts; the attempt number goes on. One whose unique key another holds stays as it is.
-- KEYS: those of keys.py.
-- ARGV: 3 filter, 4 where to go on, 5 how many, 6 author, 7 bound of ripples.
-- Result: {more, where to go on, {jobs changed}, {queues that gained}, {}}.
make_way()
local function key_free(job)
  local claimant = job.s[KEY] ~= '' and claimant_of(job.s[KEY])
  if not claimant or not taken(claimant) then return true end
  return claimant[HOLDER] == job.id and claimant[SUCCESSOR] == ''
end

local function redrive(job)
  local key = job.s[KEY]
  local held = key ~= '' and claimant_of(key)
  kin.start_afresh(job)
  if key == '' then return end
  local claimant = {job.id, 1, hold_from(job, now), ''}
  if held and held[HOLDER] == job.id then claimant[HELD_UNTIL] = held[HELD_UNTIL] end
  put_claimant(key, claimant)
end

local found, more, edge = candidates(tonumber(ARGV[5]), false, function(job)
  return (job.s[STATE] == FAILED or job.s[STATE] == CANCELLED) and key_free(job)
end)
local driven = {}
for _, job in ipairs(found) do
  -- Another job of this very call may have taken the key meanwhile.
  if key_free(job) then
    redrive(job)
    driven[#driven + 1] = job
  end
end
if #driven > 0 then tell('redrive', 'jobs', ARGV[6], tostring(#driven)) end
kin.ripple(tonumber(ARGV[7]))
flush()
ring()
return {more and 1 or 0, edge, ids_of(driven), gained, {}}
