-- Shared: a job with what stands aside.
-- Guarantee: everything known about it, as of one moment.
-- KEYS: ASIDES.
-- ARGV: none.
-- Result: a job is {record, payload or nothing, progress, result, error}, and with its history also what
-- it is after, what it has joined, attempt…
local function tell_job(job, history)
  local s, fields = job.s, {}
  for i, letter in ipairs({'p', 'g', 'r', 'e'}) do fields[i] = job.seq .. letter end
  if history then
    fields[5], fields[6] = job.seq .. 'a', job.seq .. 'j'
    for attempt = math.max(1, s[ATTEMPT] - HISTORY_KEPT), s[ATTEMPT] do
      fields[#fields + 1] = job.seq .. 'h' .. attempt
    end
  end
  if s[ASIDE] == '' and s[ATTEMPT] == 0 then return {encode(job)} end
  return {encode(job), unpack(hmget(ASIDES, fields))}
end
