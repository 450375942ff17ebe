// oxen-queue on MySQL or MariaDB, asking for jobs as often as an Oxmill worker looks for news.
// /// script
// dependencies = ["oxen-queue@0.1.12"]
//
// [tool.bench]
// name = "oxen-queue, asks every 30 ms"
// settings = "concurrency 200, fastest and slowest_polling_rate 30 ms: as often as ours looks"
// loses = "nothing: stuck jobs are run again after their timeout"
// safe = true
// jobs = 4000
// only = ["W5"]
// ///

require("./oxen.cjs")(30, 30);
