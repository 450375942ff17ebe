// oxen-queue on MySQL or MariaDB.
// /// script
// dependencies = ["oxen-queue@0.1.12"]
//
// [tool.bench]
// name = "oxen-queue"
// settings = "concurrency 200, fastest_polling_rate 1 ms, slowest 10 ms, ended jobs kept (it deletes none)"
// loses = "nothing: stuck jobs are run again after their timeout"
// safe = true
// jobs = 4000
// ///

const Oxen = require("oxen-queue");
const { URL: url, TEXT, started, stamp, main } = require("./peer.cjs");

const { hostname, port, username, pathname } = new URL(url);
const mysql_config = { host: hostname, port: Number(port), user: username, database: pathname.slice(1) };
const make = () => new Oxen({
  mysql_config, job_type: "bench", fastest_polling_rate: 1, slowest_polling_rate: 10,
});
let queue;

main({
  async open() {
    queue = make();
    await queue.createTable();
  },
  enqueue: () => queue.addJob({ body: { text: TEXT } }),
  enqueueMany: (count) => queue.addJobs(Array.from({ length: count }, () => ({ body: { text: TEXT } }))),
  async left() {
    const found = await queue.dbQry(
      "SELECT COUNT(*) AS n FROM oxen_queue WHERE status IN ('waiting', 'processing')"
    );
    return Number(found[0].n);
  },
  send: (sent) => queue.addJob({ body: { sent } }),
  async work() {
    const worker = make();
    await worker.createTable();
    worker.process({
      concurrency: 200,
      work_fn: async (body) => {
        if (body.sent !== undefined) stamp(body.sent);
        started();
        return null;
      },
    });
  },
});
