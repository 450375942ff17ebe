-- Shared: one job, as it is kept in JOBS under its number of arrival.
-- Guarantee: a job is parsed once per script and written once, at the flush; what it carries
-- (`rest`: its description, then its payload) passes through unread.
-- KEYS: JOBS, IDS, ASIDES.
-- ARGV: none.
-- Result: the functions below. The places of the standing are those of record.py.
local STATE, QUEUE, PRIORITY, ENQUEUED, DUE = 1, 2, 3, 4, 5
local MAX_ATTEMPTS, CRASH_LIMIT, KEEP, EXPIRES, KEY = 6, 7, 8, 9, 10
local UNTIL, WITHIN, ASIDE, PLACE, ATTEMPT = 11, 12, 13, 14, 15
local FAILURES, CRASHES, NONCE, WORKER, CLAIMED = 16, 17, 18, 19, 20
local LEASE, LEASED, FINISHED, OUTCOME, MARK = 21, 22, 23, 24, 25
local ERROR_OF, ENDED_AT, REASON, CANCEL = 26, 27, 28, 29
local FLOW = 30 -- then its parent, stage, fields read, continuation and wait, which only its scripts use
local BLANK = {0, '', 0, 0, 0, 20, 3, -1, 0, '', 0, -1, '', 0, 0, 0, 0, '', '', 0, 0, 0, 0, '', 0,
  0, 0, '', 0, '', '', '', '', '', ''}
local HELD, SCHEDULED, WAITING, RUNNING, SUCCEEDED, FAILED, CANCELLED = 1, 2, 3, 4, 5, 6, 7
-- What a standing lacks reads as its default; a write beyond its end fills the gap, so that it stays
-- an array and may be packed as it is.
local STANDING = {
  __index = BLANK,
  __newindex = function(standing, place, value)
    if value == BLANK[place] then return end
    for gap = #standing + 1, place - 1 do rawset(standing, gap, BLANK[gap]) end
    rawset(standing, place, value)
  end,
}
local HISTORY_KEPT = 1000

local jobs, dirty, seqs_by_id = {}, {}, {}

local parse, encode
do
  local FRAME, FRAME_SIZE = '>BI3I3', 7

  parse = function(seq, blob)
    local id_size, size, about = struct.unpack(FRAME, blob)
    local start = FRAME_SIZE + id_size
    local _, standing = cmsgpack.unpack_one(blob, start)
    return {
      seq = seq, id = string.sub(blob, FRAME_SIZE + 1, start), s = setmetatable(standing, STANDING),
      about = about, rest = string.sub(blob, start + size + 1),
    }
  end

  encode = function(job)
    local standing = job.s
    local last = #standing
    while standing[last] == BLANK[last] do
      standing[last] = nil
      last = last - 1
    end
    local packed = cmsgpack.pack(standing)
    return struct.pack(FRAME, #job.id, #packed, job.about) .. job.id .. packed .. job.rest
  end
end

local function load(seq)
  local job = jobs[seq]
  if job == nil then
    local blob = redis.call('HGET', JOBS, seq)
    job = blob and parse(seq, blob)
    jobs[seq] = job
  end
  return job
end

local function load_all(seqs)
  local missing = {}
  for _, seq in ipairs(seqs) do
    if jobs[seq] == nil then missing[#missing + 1] = seq end
  end
  if #missing == 0 then return end
  local blobs = hmget(JOBS, missing)
  for i, seq in ipairs(missing) do jobs[seq] = blobs[i] and parse(seq, blobs[i]) end
end

local function save(job)
  dirty[job.seq] = job
end

local function by_id_numbers(ids)
  local seqs = hmget(IDS, ids)
  for i = 1, #ids do seqs_by_id[ids[i]] = seqs[i] end
  return seqs
end

-- The jobs with these ids, in order; false for those that are not there.
local function by_ids(ids)
  local seqs, known = by_id_numbers(ids), {}
  for i = 1, #ids do
    if seqs[i] then known[#known + 1] = seqs[i] end
  end
  load_all(known)
  local found = {}
  for i = 1, #ids do found[i] = seqs[i] and load(seqs[i]) end
  return found
end

local function number_of(id)
  local own = hashes[IDS]
  local seq = own and own[id]
  if seq == nil then seq = seqs_by_id[id] end
  if seq == nil then seq = redis.call('HGET', IDS, id) end
  return seq
end

local function by_id(id)
  local seq = number_of(id)
  return seq and load(seq)
end

-- What few jobs have, or what is big, stands aside under the job's number and a letter: p payload,
-- r result, e error, g progress, a what it is after, j what it has joined. The letter f only says that
-- the job has indexed fields.
local function set_aside(job, letter, value)
  local letters = job.s[ASIDE]
  if letters == '' and not value then return end
  local there = string.find(letters, letter, 1, true)
  if value then
    if not there then job.s[ASIDE] = letters .. letter end
    hput(ASIDES, job.seq .. letter, value)
  elseif there then
    job.s[ASIDE] = (string.gsub(letters, letter, ''))
    hput(ASIDES, job.seq .. letter, false)
  end
end

-- Most results are null: the letter n says so and nothing need be kept.
local function set_result(job, result)
  local null = result == 'null'
  set_aside(job, 'r', not null and result or false)
  job.s[ASIDE] = (string.gsub(job.s[ASIDE], 'n', '')) .. (null and 'n' or '')
end

local function aside(job, letter)
  if not string.find(job.s[ASIDE], letter, 1, true) then return false end
  return hget(ASIDES, job.seq .. letter)
end

local function about(job)
  local _, parts = cmsgpack.unpack_one(job.rest, 0)
  return parts
end

local function payload_of(job)
  return aside(job, 'p') or string.sub(job.rest, job.about + 1)
end

-- The newest attempt, once ended, goes to the history when another begins.
local function remember_attempt(job)
  local s = job.s
  if s[FINISHED] == 0 then return end
  local failure = s[ERROR_OF] == s[ATTEMPT] and aside(job, 'e') or ''
  local entry = cmsgpack.pack({s[ATTEMPT], s[WORKER], s[CLAIMED], s[FINISHED], s[OUTCOME], failure})
  hput(ASIDES, job.seq .. 'h' .. s[ATTEMPT], entry)
  if s[ATTEMPT] > HISTORY_KEPT then hput(ASIDES, job.seq .. 'h' .. (s[ATTEMPT] - HISTORY_KEPT), false) end
  s[FINISHED] = 0
end

local function forget_asides(job)
  local s = job.s
  if s[ASIDE] ~= '' then
    for letter in string.gmatch(s[ASIDE], '.') do hput(ASIDES, job.seq .. letter, false) end
  end
  if s[ATTEMPT] == 1 and s[FINISHED] ~= 0 then return end
  for attempt = math.max(1, s[ATTEMPT] - HISTORY_KEPT), s[ATTEMPT] do
    hput(ASIDES, job.seq .. 'h' .. attempt, false)
  end
end

flushing.jobs = function()
  for seq, job in pairs(dirty) do hput(JOBS, seq, encode(job)) end
  dirty = {}
end

-- The job as it will be written; no change may follow.
local function written(job)
  local blob = encode(job)
  dirty[job.seq] = nil
  hput(JOBS, job.seq, blob)
  return blob
end
