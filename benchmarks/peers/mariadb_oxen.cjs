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

require("./oxen.cjs")(1, 10);
