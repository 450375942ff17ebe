-- Shared by the short ways of claims: how the record of a job that starts for the first time becomes a leased one.
-- Guarantee: looks only.
-- KEYS: none.
-- ARGV: as claim.lua.
-- Result: `cut.fresh_form(blob)`: what records of one size and kind share: where the standing starts and stops, its kind,
-- and the frame and the parts of the standing that a lease gives them; nothing if the job is another.
-- `cut.fresh_lease(blob, form)`: the leased record.
-- `cut.priority(blob)`: that of any job.
function cut.fresh_form(blob)
  -- A fresh standing is an array of 4 to 8: state, queue, priority, time of enqueue, and perhaps due, attempts, crashes
  -- and retention. What a lease adds is the same for all of them: what else is in a standing at its default, then
  -- nonce, worker, start, length and end.
  local LEAST, MOST, ARRAY, WAITING = 4, 8, 144, 3
  local LACKING = '\0\160\0\0\0\20\3\255\0\160\0\255\160\0\1\0\0'
  local id_size, size, about = struct.unpack('>BI3I3', blob)
  local start = 7 + id_size
  local kind, state = string.byte(blob, start + 1, start + 2)
  local count = kind - ARRAY
  if count < LEAST or count > MOST or state ~= WAITING then return nil end
  local lease = tonumber(ARGV[3])
  local added = string.sub(LACKING, count + 1) .. cmsgpack.pack(ARGV[5], ARGV[4], now, lease, now + lease)
  return {frame = struct.pack('>BI3I3', id_size, size + 2 + #added, about), start = start, stop = start + size,
    kind = kind, added = added}
end

function cut.fresh_lease(blob, form)
  local sub, start, stop = string.sub, form.start, form.stop
  return form.frame .. sub(blob, 8, start) .. '\220\0\22\4' .. sub(blob, start + 3, stop) .. form.added
    .. sub(blob, stop + 1)
end

function cut.priority(blob)
  local id_size, size = struct.unpack('>BI3', blob)
  return cmsgpack.unpack(string.sub(blob, 8 + id_size, 7 + id_size + size))[3]
end
