/** Status of the control plane. */
import { z } from "zod";
import { count, instantMs } from "@headroom/spec";
import { executorPhase } from "./executor.ts";
import { acceleratorCounts, nodeCounts } from "./fleet.ts";

const durationMs = z.number().nonnegative();

export const journalStatus = z
  .object({
    groups: count.meta({ description: "Batches of events made durable since the start." }),
    syncs: count,
    commands: count,
    commandsPerSync: z.number().nonnegative(),
    syncLatencyP50Ms: durationMs,
    syncLatencyP99Ms: durationMs,
    inboxLength: count,
    loopDelayP99Ms: durationMs.meta({ description: "Delay of the event loop, 99th percentile." }),
  })
  .meta({ id: "JournalStatus" });

export const executorIsolation = z
  .object({
    executor: z.string(),
    kind: z.enum(["bubblewrap", "none"]).meta({
      description:
        "`bubblewrap`: each worker runs in a sandbox; `none`: workers are processes of the control plane's user.",
    }),
    memory: z.boolean().meta({ description: "Whether requests of memory are limits that the kernel enforces." }),
    cores: z.boolean().meta({ description: "Whether requests of cores are limits that the kernel enforces." }),
    processes: z.boolean().meta({ description: "Whether the number of processes of a worker is limited." }),
    notes: z.array(z.string()).meta({ description: "Limits and separations that are not enforced." }),
  })
  .meta({ id: "ExecutorIsolation" });

export const status = z
  .object({
    version: z.string(),
    mode: z.enum(["live", "simulated"]),
    startedAtMs: instantMs.meta({ description: "Time at which this process started." }),
    nowMs: instantMs.meta({ description: "The clock of the control plane; under simulation it is virtual." }),
    sequence: count.meta({ description: "Events recorded so far." }),
    chain: z.string().meta({ description: "Head of the journal's hash chain." }),
    policy: z.string(),
    paused: z
      .string()
      .nullable()
      .meta({ description: "Why no decisions are made, with the remedy; null: decisions are made." }),
    hasGateway: z.boolean().meta({ description: "Whether the control plane knows a gateway (`GET /v1/gateway`)." }),
    isolation: z.array(executorIsolation).meta({ description: "Isolation of workloads, by executor." }),
    executors: z
      .array(
        z.object({
          name: z.string(),
          phase: executorPhase,
          sinceMs: instantMs,
          reason: z.string().optional(),
        }),
      )
      .meta({ description: "Executors that are not reachable (`GET /v1/executors` lists all)." }),
    nodes: nodeCounts,
    accelerators: acceleratorCounts,
    workloads: z.object({
      submitted: count.meta({ description: "Workloads submitted since the journal began." }),
      unfinished: count.meta({ description: "Workloads that have not ended." }),
      waiting: count.meta({ description: "Workloads with a task that could start now if capacity were free." }),
      ended: count,
    }),
    activeAttempts: count,
    waitingTasks: count,
    waitingAccelerators: z
      .number()
      .min(0)
      .meta({ description: "Accelerators in use; a fraction of an accelerator counts as its fraction." }),
    journal: journalStatus.nullable().meta({ description: "State of the journal; null if there is none (the demo)." }),
  })
  .meta({ id: "Status" });

export const loginLink = z
  .object({ url: z.string(), expiresAtMs: instantMs })
  .meta({ id: "LoginLink", description: "Link that signs in one browser to the console, once." });

export type JournalStatus = z.output<typeof journalStatus>;
export type Status = z.output<typeof status>;
export type LoginLink = z.output<typeof loginLink>;
