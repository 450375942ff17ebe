-- Guarantee: idle jobs among those that match change priority, queue or due time; a changed due time
-- or queue puts the job behind the line.
-- KEYS: those of keys.py.
-- ARGV: 3 filter, 4 where to go on, 5 how many, 6 author, 7 priority, 8 queue, 9 due in ('' keeps,
-- each).
-- Result: {more, where to go on, {jobs changed}, {queues of those that wait}, {}}.
make_way()
local priority, queue, due_in = tonumber(ARGV[7]), ARGV[8], tonumber(ARGV[9])

local function edit(job)
  local s = job.s
  local moved = queue ~= '' and queue ~= s[QUEUE]
  leave(job)
  if priority then s[PRIORITY] = priority end
  if moved then
    s[QUEUE] = queue
    named[queue] = true
  end
  local due = due_in and now + due_in or due_at(job)
  local in_line = s[STATE] == WAITING and due <= now
  if s[STATE] ~= HELD and in_line and moved then
    line_up(job, due_at(job), true)
  elseif s[STATE] ~= HELD and not in_line and due_in then
    line_up(job, due, true)
  else
    if s[STATE] == HELD then s[DUE] = due - s[ENQUEUED] end
    join(job)
  end
end

local found, more, edge = candidates(tonumber(ARGV[5]), false, idle)
for _, job in ipairs(found) do edit(job) end
gained, gained_once = {}, {}
for _, job in ipairs(found) do
  if job.s[STATE] == WAITING then gain(job.s[QUEUE]) end
end
if #found > 0 then tell('edit', 'jobs', ARGV[6], tostring(#found)) end
flush()
ring()
return {more and 1 or 0, edge, ids_of(found), gained, {}}
