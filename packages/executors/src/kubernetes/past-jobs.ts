/** Ended Jobs of Kubernetes, as `kubectl get jobs -A -o json` prints them (kubernetes.io/docs/reference/kubernetes-api, "Job v1"). */
import { z } from "zod";
import { SCHEDULER_NAME } from "./executor/pod-names.ts";

const amounts = z.record(z.string(), z.union([z.string(), z.number()])).optional();
const instant = z.iso.datetime({ offset: true });
const job = z.object({
  metadata: z.object({ name: z.string(), namespace: z.string(), creationTimestamp: instant }),
  spec: z.object({
    parallelism: z.int().positive().optional(),
    completions: z.int().positive().optional(),
    completionMode: z.string().optional(),
    activeDeadlineSeconds: z.int().positive().optional(),
    template: z.object({
      spec: z.object({
        serviceAccountName: z.string().optional(),
        schedulerName: z.string().optional(),
        containers: z.array(z.object({ resources: z.object({ limits: amounts, requests: amounts }).optional() })),
      }),
    }),
  }),
  status: z.object({
    startTime: instant.optional(),
    completionTime: instant.optional(),
    succeeded: z.int().optional(),
    failed: z.int().optional(),
    conditions: z
      .array(z.object({ type: z.string(), status: z.string(), lastTransitionTime: instant.optional() }))
      .optional(),
  }),
});
/** Device plugins of vendors, and profiles of MIG. */
const ACCELERATOR =
  /^(?:nvidia\.com\/(?:gpu|mig-.+)|amd\.com\/gpu|google\.com\/tpu|habana\.ai\/gaudi|aws\.amazon\.com\/neuron)$/;

/** Users write the numbers of their Jobs, so a larger one says nothing. */
const ACCELERATORS_MAX = 20_000;

/** A Job that has ended, or why it does not count. */
export type PastJobReading =
  | { readonly kind: "job"; readonly job: EndedJob }
  | { readonly kind: "leftOut"; readonly reason: string }
  | { readonly kind: "unread" };

export interface EndedJob {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly name: string;
  readonly isIndexed: boolean;
  /** Accelerators of all pods that ran at a time. */
  readonly accelerators: number;
  readonly createdAtMs: number;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly deadlineMs: number | null;
}

/** `null`: the text is no list of objects. */
export function readPastJobs(text: string): readonly PastJobReading[] | null {
  let list: unknown;
  try {
    list = JSON.parse(text) as unknown;
  } catch {
    return null;
  }
  const reading = z.object({ items: z.array(z.unknown()) }).safeParse(list);
  return reading.success ? reading.data.items.map(readJob) : null;
}

function readJob(item: unknown): PastJobReading {
  const reading = job.safeParse(item);
  if (!reading.success) return { kind: "unread" };
  const { metadata, spec, status } = reading.data;
  const { serviceAccountName, schedulerName, containers } = spec.template.spec;
  const leftOut = (reason: string): PastJobReading => ({ kind: "leftOut", reason });
  if (schedulerName === SCHEDULER_NAME) return leftOut("run by Headroom");
  const failure = status.conditions?.find(({ type, status: is }) => type === "Failed" && is === "True");
  const end = status.completionTime ?? failure?.lastTransitionTime;
  if (status.startTime === undefined) return leftOut("never started");
  if (end === undefined) return leftOut("still running");
  const perPod = containers.reduce(
    (sum, { resources }) => sum + acceleratorsIn({ ...resources?.requests, ...resources?.limits }),
    0,
  );
  if (perPod === 0) return leftOut("without GPUs");
  const { parallelism = 1, completions = parallelism } = spec;
  const accelerators = perPod * Math.min(parallelism, completions);
  if (accelerators > ACCELERATORS_MAX) return leftOut("with more accelerators than clusters have");
  if ((status.succeeded ?? 0) + (status.failed ?? 0) === 0) return leftOut("without a pod that ended");
  const [startedAtMs, endedAtMs] = [Date.parse(status.startTime), Date.parse(end)];
  if (startedAtMs >= endedAtMs) return leftOut("with times out of order");
  const ended: EndedJob = {
    namespace: metadata.namespace,
    serviceAccount: serviceAccountName ?? "default",
    name: metadata.name,
    isIndexed: spec.completionMode === "Indexed",
    accelerators,
    createdAtMs: Math.min(Date.parse(metadata.creationTimestamp), startedAtMs),
    startedAtMs,
    endedAtMs,
    deadlineMs: spec.activeDeadlineSeconds === undefined ? null : spec.activeDeadlineSeconds * 1_000,
  };
  return { kind: "job", job: ended };
}

const acceleratorsIn = (held: Readonly<Record<string, string | number>>): number =>
  Object.entries(held).reduce(
    (sum, [resource, amount]) =>
      sum + (ACCELERATOR.test(resource) && /^\d{1,6}$/.test(String(amount)) ? Number(amount) : 0),
    0,
  );
