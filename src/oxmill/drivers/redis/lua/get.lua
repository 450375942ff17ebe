-- Guarantee: these jobs in full, in the order asked; unknown ids are left out. Writes nothing.
-- KEYS: IDS, JOBS, ASIDES.
-- ARGV: 3… ids.
-- Result: jobs as in read.lua.
local told = {}
for _, job in ipairs(by_ids({unpack(ARGV, 3)})) do
  if job then told[#told + 1] = tell_job(job, true) end
end
return told
