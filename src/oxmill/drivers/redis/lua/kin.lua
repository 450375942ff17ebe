-- Shared: flows, as far as every script needs to know of them.
-- Guarantee: what deals with flows is made when a script first needs it, so that jobs without a flow do not
-- pay for it.
-- KEYS: COUNTS.
-- ARGV: none.
-- Result: `kin`, to which the parts about flows add their functions. `kin.fresh` are the ripples that this
-- script has set off, `kin.filled` the queues in which jobs began to wait because of flows, `kin.made` the new flows.
local kin = {parts = {}, fresh = {}, filled = {}, made = {}}
setmetatable(kin, {__index = function(_, name)
  setmetatable(kin, nil)
  for _, part in ipairs(kin.parts) do part() end
  return kin[name]
end})

do
  local COUNTS_FORM, NONE, changed = '>i4i4i4i4i4i4i4', string.rep('\0', 28), {}
  local COUNTED = {[HELD] = true, [SCHEDULED] = true, [FAILED] = true, [CANCELLED] = true}

  -- How many jobs of a flow are in this state. Those that wait, run or have succeeded, as most do, are not
  -- counted as they move: flows.lua finds out when somebody asks.
  function kin.count(s, change)
    local flow, state = s[FLOW], s[STATE]
    if flow == '' or not COUNTED[state] then return end
    changed[flow] = changed[flow] or {}
    changed[flow][state] = (changed[flow][state] or 0) + change
  end

  -- The flow goes, with all that was counted so far.
  function kin.forget_counts(flow)
    changed[flow] = nil
    hput(COUNTS, flow, false)
  end

  local function put_counts(flow, text)
    local counts = {struct.unpack(COUNTS_FORM, text or NONE)}
    for state, change in pairs(changed[flow]) do counts[state] = counts[state] + change end
    hput(COUNTS, flow, struct.pack(COUNTS_FORM, unpack(counts, 1, 7)))
  end

  -- Of flows that this script has made, nothing is counted yet.
  flushing.counts = function()
    local flows = {}
    for flow in pairs(changed) do
      if kin.made[flow] then put_counts(flow) else flows[#flows + 1] = flow end
    end
    for i, text in ipairs(#flows > 0 and hmget(COUNTS, flows) or {}) do put_counts(flows[i], text) end
    changed, kin.made = {}, {}
  end
end

-- Done last by every script that may have ended a job.
function kin.ripple(bound)
  if #kin.fresh > 0 then kin.ripple_on(bound) end
end

function kin.gained()
  local names = {}
  for queue in pairs(kin.filled) do names[#names + 1] = queue end
  table.sort(names)
  return names
end
