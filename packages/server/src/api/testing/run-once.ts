/**
 * `run-once.ts HOME`: starts a control plane, runs one workload to its end and closes. For tests of the files that a
 * run leaves on disk.
 */
import { startLive } from "./live-control-plane.ts";

const live = await startLive(process.argv[2] ?? "");
const { workloadId } = await live.client.submitWorkload({
  kind: "train",
  name: "once",
  run: "true",
  gang: { accelerators: 1 },
});
while ((await live.client.getWorkload(workloadId)).endedAtMs === null)
  await new Promise((resolve) => setTimeout(resolve, 20));
await live.close();
