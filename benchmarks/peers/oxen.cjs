// What the adapters of oxen-queue share: they differ in how often it asks for jobs.

const Oxen = require("oxen-queue");
const { URL: url, TEXT, started, stamp, main } = require("./peer.cjs");

const { hostname, port, username, pathname } = new URL(url);
const mysql_config = { host: hostname, port: Number(port), user: username, database: pathname.slice(1) };

/** Takes part, asking for jobs at intervals between these two, in ms. */
module.exports = (fastest_polling_rate, slowest_polling_rate) => {
  const make = () => new Oxen({
    mysql_config, job_type: "bench", fastest_polling_rate, slowest_polling_rate,
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
};
