// graphile-worker on PostgreSQL, with a local queue and batched completion.
// /// script
// dependencies = ["graphile-worker@0.17.3"]
//
// [tool.bench]
// name = "graphile-worker"
// settings = "localQueue 500, completeJobBatchDelay 0, concurrentJobs 24, pool of 24"
// loses = "nothing: jobs locked for 4 hours are run again"
// safe = true
// jobs = 30000
// ///

const { run, makeWorkerUtils, Logger } = require("graphile-worker");
const { Pool } = require("pg");
const { URL: url, TEXT, started, stamp, main } = require("./peer.cjs");

const logger = new Logger(() => () => {});
const MANY =
  "SELECT count(*) FROM graphile_worker.add_jobs(" +
  "(SELECT array_agg(json_populate_record(NULL::graphile_worker.job_spec, $1::json)) " +
  "FROM generate_series(1, $2)))";
let pool, tools;

main({
  async open() {
    pool = new Pool({ connectionString: url, max: 24 });
    pool.on("error", () => {});
    tools = await makeWorkerUtils({ pgPool: pool, logger });
    await tools.migrate();
  },
  enqueue: () => tools.addJob("noop", { text: TEXT }),
  async enqueueMany(count) {
    const spec = { identifier: "noop", payload: { text: TEXT } };
    await pool.query(MANY, [JSON.stringify(spec), count]);
  },
  async left() {
    // Completed jobs are deleted.
    const found = await pool.query("SELECT count(*) AS n FROM graphile_worker._private_jobs");
    return Number(found.rows[0].n);
  },
  send: (sent) => tools.addJob("stamped", { sent }),
  async work() {
    await run({
      connectionString: url,
      maxPoolSize: 24,
      logger,
      taskList: {
        noop: async () => started(),
        stamped: async (payload) => stamp(payload.sent),
      },
      preset: {
        worker: { concurrentJobs: 24, localQueue: { size: 500 }, completeJobBatchDelay: 0 },
      },
    });
  },
});
