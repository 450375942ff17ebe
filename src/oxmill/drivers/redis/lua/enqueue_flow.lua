-- Guarantee: the flow, its jobs and its stage are stored, or nothing is. New jobs are refused as a whole when
-- the server is over its memory limit, since the first write then needs memory; a publication is not.
-- KEYS: those of keys.py.
-- ARGV: 3 bound of ripples, 4 flow ('' for none), 5 {name, keep, words of its fields} in msgpack, 6 stage,
-- 7 stage to publish ('' for none, each), 8 how many fields its state has, then these with their values in
-- turn, then jobs as in intake.lua.
-- Result: 0 if there is no such stage to publish; or an answer per job, then the queues that gained.
local flow_id, stage_name, published, at = ARGV[4], ARGV[6], ARGV[7], 9 + 2 * tonumber(ARGV[8])
if published ~= '' and published ~= stage_name and not kin.stage(published) then return 0 end

local wanted, ids = read_jobs(at), {}
for i, new in ipairs(wanted) do ids[i] = new.id end
by_ids(ids)

local function alike(one, other)
  if one.t[1] ~= other.t[1] then return false end
  local _, parts = cmsgpack.unpack_one(one.rest, 0)
  local _, others = cmsgpack.unpack_one(other.rest, 0)
  return parts[1] == others[1] and (one.payload or string.sub(one.rest, one.t[2] + 1))
    == (other.payload or string.sub(other.rest, other.t[2] + 1))
end

local verdicts, seen, refused = {}, {}, false
for i, new in ipairs(wanted) do
  local first, there = seen[new.id], by_id(new.id)
  if first or there then
    local is_same = first and alike(first, new) or not first and same(there, new)
    verdicts[i] = is_same and DUPLICATE or ID_CONFLICT
    refused = refused or not is_same
  else
    verdicts[i], seen[new.id] = CREATED, new
  end
end

local answers = {}
if refused then
  for i, new in ipairs(wanted) do
    local there, t = by_id(new.id), new.t
    local due = t[5] >= 0 and t[5] or now + t[4]
    local state = there and there.s[STATE] or (stage_name ~= '' or new.after ~= '') and HELD
      or due <= now and WAITING or SCHEDULED
    answers[i] = verdicts[i] * 10 + state
  end
  answers[#answers + 1] = {}
  return answers
end

if flow_id ~= '' then
  local terms = cmsgpack.unpack(ARGV[5])
  kin.flow_of(flow_id, terms[1], terms[2], terms[3], {unpack(ARGV, 9, at - 1)})
  local stage = stage_name ~= '' and kin.stage_of(stage_name, flow_id)
  for i, new in ipairs(wanted) do
    if verdicts[i] == CREATED then
      kin.create(new, stage, flow_id, new.kin[2])
    elseif stage then
      kin.stage_again(stage, new, by_id(new.id))
    end
  end
end
if published ~= '' then kin.publish(published) end
kin.ripple(tonumber(ARGV[3]))
for i, new in ipairs(wanted) do answers[i] = verdicts[i] * 10 + by_id(new.id).s[STATE] end
answers[#answers + 1] = kin.gained()
flush()
ring()
return answers
