// The same clocks as peer.py and marks.py, for adapters that run on Node.
//
// An adapter calls main() with what its library offers: open, close, enqueue, enqueueMany, left,
// send and work, all async. process.hrtime is the monotonic clock that Python's time.monotonic reads.

const fs = require("node:fs");
const path = require("node:path");

const FOLDER = process.env.BENCH_FOLDER;
const URL = process.env.BENCH_URL;
const TEXT = "x".repeat(89);
const LOOK_MS = 20, LONG_LOOK_MS = 500, WARM = 10, CALLERS = 100, BULK = 1000;

const nanoseconds = () => process.hrtime.bigint();
const seconds = () => Number(nanoseconds()) / 1e9;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

let begun = false;
function started() {
  if (begun) return;
  begun = true;
  fs.writeFileSync(path.join(FOLDER, `started-${process.pid}`), String(nanoseconds()));
}

function stamp(sent) {
  const took = seconds() - sent;
  const pipe = fs.openSync(path.join(FOLDER, "stamps"), "w");
  fs.writeSync(pipe, `${took}\n`);
  fs.closeSync(pipe);
}

async function timed(peer, jobs, before, act) {
  const start = seconds();
  await act();
  const rate = jobs / (seconds() - start);
  // A rate counts only if the store has what was sent.
  const found = await peer.left();
  if (found !== before + jobs) throw new Error(`the store holds ${found} of ${before + jobs} jobs`);
  return { rate };
}

async function callers(peer, jobs, count) {
  const caller = async () => {
    for (let n = 0; n < jobs / count; n++) await peer.enqueue();
  };
  await Promise.all(Array.from({ length: count }, caller));
}

async function many(peer, jobs) {
  for (let first = 0; first < jobs; first += BULK) await peer.enqueueMany(Math.min(BULK, jobs - first));
}

async function watch(peer) {
  let [before, seen, pause] = [await peer.left(), seconds(), LOOK_MS];
  console.log(`ready ${before}`);
  while (before) {
    await sleep(pause);
    const [found, now] = [await peer.left(), seconds()];
    // As in marks.py: rarely while much is left.
    const ahead = before > found ? (1e3 * (now - seen) * found) / (before - found) / 4 : 0;
    pause = Math.min(Math.max(LOOK_MS, ahead), LONG_LOOK_MS);
    [before, seen] = [found, now];
  }
  return { empty_at: seen };
}

async function latency(peer, jobs) {
  const pipe = path.join(FOLDER, "stamps");
  require("node:child_process").execFileSync("mkfifo", [pipe]);
  const file = fs.openSync(pipe, "r+");
  // Read blocking: a read left over in the thread pool would keep this process from ending.
  const line = Buffer.alloc(100);
  const found = [];
  for (let n = 0; n < jobs + WARM; n++) {
    await peer.send(seconds());
    const took = Number(line.toString("utf8", 0, fs.readSync(file, line)));
    if (n >= WARM) found.push(took * 1e3);
    await sleep(20 + 50 * Math.random()); // or a worker that polls would fall into step
  }
  found.sort((a, b) => a - b);
  const at = (share) => found[Math.min(found.length - 1, Math.floor(found.length * share))];
  return { p50_ms: at(0.5), p99_ms: at(0.99) };
}

const OFFERS = ["fill", "enqueue_async", "enqueue_concurrent", "enqueue_bulk", "watch", "latency"];

async function act(peer, what, jobs) {
  if (what === "fill") return many(peer, jobs);
  if (what === "enqueue_bulk") return timed(peer, jobs, 0, () => many(peer, jobs));
  if (what === "watch") return watch(peer);
  if (what === "latency") return latency(peer, jobs);
  await peer.enqueue();
  const count = what === "enqueue_concurrent" ? CALLERS : 1;
  return timed(peer, jobs, 1, () => callers(peer, jobs, count));
}

async function main(peer) {
  const [what, jobs] = [process.argv[2], Number(process.argv[3])];
  if (what === "offers") return console.log(JSON.stringify({ offers: OFFERS }));
  if (what === "work") return peer.work();
  await peer.open();
  console.log(JSON.stringify((await act(peer, what, jobs)) ?? {}));
  // Pools and pending reads must not keep a finished measurement alive.
  process.exit(0);
}

module.exports = {
  URL, TEXT, started, stamp,
  main: (peer) => main(peer).catch((error) => { console.error(error); process.exit(1); }),
};
