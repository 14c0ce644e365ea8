/** Commands that tests of the driver send. */
import { teamName } from "@headroom/model";
import type { Reply, WorkloadSpec } from "@headroom/model";
import type { CommandRequest } from "../driver.ts";

export function testSpec(name: string, change: Partial<WorkloadSpec> = {}): WorkloadSpec {
  return {
    kind: "train",
    name,
    team: teamName("default"),
    run: "true",
    dir: null,
    env: {},
    gang: { workers: 1, accelerators: 1, coresMilli: 0, memoryMib: 0 },
    acceleratorTypes: [],
    priority: 0,
    walltimeMs: null,
    retries: { max: 0, backoffMs: 1000, backoffMaxMs: 1000 },
    graceTimeoutMs: 1000,
    checkpointDir: null,
    ...change,
  } as WorkloadSpec;
}

export function submit(spec: WorkloadSpec, idempotencyKey: string | null = null): CommandRequest {
  return { kind: "submitWorkload", actor: "test", idempotencyKey, spec };
}

export function submittedId(reply: Reply): string {
  if (reply.kind !== "accepted" || reply.result.kind !== "workloadSubmitted") throw new Error(JSON.stringify(reply));
  return reply.result.workloadId;
}
