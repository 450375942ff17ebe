-- Guarantee: idle jobs among those that match change priority, queue or due time; a changed due time
-- or queue puts the job behind the line.
-- KEYS: those of keys.py.
-- ARGV: 3 filter, 4 where to go on, 5 how many, 6 author, 7 priority, 8 queue, 9 due in ('' keeps,
-- each).
-- Result: {more, where to go on, {jobs changed}, {queues of those that wait or let others start}, {}}.
make_way()
local priority, queue, due_in = tonumber(ARGV[7]), ARGV[8], tonumber(ARGV[9])

local opened = {}

local function edit(job)
  local s = job.s
  local moved = queue ~= '' and queue ~= s[QUEUE]
  -- Others of an ordered group wait no longer for this one to be tried again.
  if s[STATE] == WAITING and (queue ~= '' or due_in) and groups.of(job) ~= '' and due_at(job) > now then
    opened[#opened + 1] = s[QUEUE]
  end
  local due = due_in and now + due_in or due_at(job)
  leave(job, not moved and not due_in)
  if priority then s[PRIORITY] = priority end
  if moved then
    s[QUEUE] = queue
    named[queue] = true
  end
  local waiting = s[STATE] == WAITING
  if waiting and due <= now then s[DUE] = math.min(due_at(job), due) - s[ENQUEUED] end
  if waiting and due <= now and moved then
    line_up(job, due_at(job), true)
  elseif s[STATE] ~= HELD and not (waiting and due <= now) and (due_in or (waiting and moved)) then
    line_up(job, due, true)
  else
    if s[STATE] == HELD then s[DUE] = due - s[ENQUEUED] end
    join(job)
  end
end

local found, more, edge = candidates(tonumber(ARGV[5]), false, idle)
for _, job in ipairs(found) do edit(job) end
gained, gained_once = {}, {}
for _, name in ipairs(opened) do gain(name) end
for _, job in ipairs(found) do
  if job.s[STATE] == WAITING then gain(job.s[QUEUE]) end
end
if #found > 0 then tell('edit', 'jobs', ARGV[6], tostring(#found)) end
flush()
ring()
return {more and 1 or 0, edge, ids_of(found), gained, {}}
