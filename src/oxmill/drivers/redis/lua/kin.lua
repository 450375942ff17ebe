-- Shared: flows, as far as every script needs to know of them.
-- Guarantee: what deals with flows is made when a script first needs it, so that jobs without a flow do not
-- pay for it.
-- KEYS: none.
-- ARGV: none.
-- Result: `kin`, to which the parts about flows add their functions. `kin.fresh` are the ripples that this
-- script has set off, `kin.filled` the queues in which jobs began to wait because of flows.
local kin = {parts = {}, fresh = {}, filled = {}}
setmetatable(kin, {__index = function(_, name)
  setmetatable(kin, nil)
  for _, part in ipairs(kin.parts) do part() end
  return kin[name]
end})

-- How many jobs of a flow are in this state.
function kin.count(s, change)
  if s[FLOW] ~= '' then tally('flow:' .. s[STATE] .. ':' .. s[FLOW], change) end
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
