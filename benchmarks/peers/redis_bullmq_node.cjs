// BullMQ on Node.
// /// script
// dependencies = ["bullmq@6.7.0", "ioredis@6.0.0"]
//
// [tool.bench]
// name = "BullMQ on Node"
// settings = "concurrency 100, removeOnComplete"
// loses = "nothing: stalled jobs are run again after their lock (30 s)"
// safe = true
// jobs = 12000
// ///

const { Queue, Worker } = require("bullmq");
const { URL: url, TEXT, started, stamp, main } = require("./peer.cjs");

const { hostname, port } = new URL(url);
const connection = { host: hostname, port: Number(port), maxRetriesPerRequest: null };
const opts = { removeOnComplete: true };
let queue;

main({
  async open() {
    queue = new Queue("bench", { connection });
    await queue.waitUntilReady();
  },
  enqueue: () => queue.add("noop", { text: TEXT }, opts),
  enqueueMany: (count) =>
    queue.addBulk(Array.from({ length: count }, () => ({ name: "noop", data: { text: TEXT }, opts }))),
  async left() {
    const counts = await queue.getJobCounts("wait", "active", "prioritized", "delayed");
    return Object.values(counts).reduce((sum, each) => sum + each, 0);
  },
  send: (sent) => queue.add("stamped", { sent }, opts),
  async work() {
    const run = async (job) => {
      if (job.name === "stamped") stamp(job.data.sent);
      started();
    };
    new Worker("bench", run, { connection, concurrency: 100 });
  },
});
