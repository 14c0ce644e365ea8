/** Process that `srun` starts on each node of a gang with several nodes. Its order comes over standard input. */
import { readFileSync } from "node:fs";
import { AttemptFiles } from "../../job-protocol/attempt-files.ts";
import { partsOf } from "../../job-protocol/attempt-parts.ts";
import type { StepOrder } from "./order.ts";
import { PipeSource } from "../../processes/fifo.ts";
import { supervisePart } from "./part-supervisor.ts";

// Signals before the order is read leave nothing behind.
const { key, masterPort, slurmGraceMs } = JSON.parse(readFileSync(0, "utf8")) as StepOrder;
process.chdir("/");
const files = new AttemptFiles(key);
const launch = files.read("launch.json");
if (launch === null) throw new Error(`${files.recordsDir} holds no launch.json`);
const node = process.env["SLURMD_NODENAME"] ?? "";
const part = partsOf(launch).findIndex((each) => each.node === node);
if (part < 0) throw new Error(`no worker of the attempt belongs on node ${node}`);
await supervisePart({
  files,
  launch,
  part,
  masterPort,
  slurmGraceMs,
  environment: process.env,
  pipes: new PipeSource(),
});
process.exit(0);
