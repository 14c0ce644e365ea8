/** Problems between the fields of a workload, which schemas of single fields cannot find. */
import type { FieldProblem } from "../document-problem.ts";
import { checkpointProblems } from "./checkpoint-store.ts";
import { gangProblems } from "./gang.ts";
import { modelProblems } from "./model.ts";
import { overflowProblems } from "./overflow.ts";
import { scaleProblems } from "./scale-targets.ts";
import { timeProblems } from "./times.ts";
import type { WrittenWorkload } from "./workload.ts";

/**
 * Problems between fields of one workload that are valid each by itself. `isScheduled`: a schedule submits the
 * workload.
 */
export function workloadProblems(written: WrittenWorkload, isScheduled = false): FieldProblem[] {
  const isElasticBatch = written.kind === "batch" && written.elastic !== null;
  const message = "is only for kind: train; the tasks of a batch are already independent of each other";
  const { fabric: levels } = written;
  const isBare = levels !== null && levels.within === null && levels.prefer === null && levels.slices === null;
  return [
    ...(written.kind === "serve" && written.env?.["PORT"] !== undefined
      ? [{ path: ["env", "PORT"], message: "is set by Headroom for every replica and cannot be set here" }]
      : []),
    ...Object.keys(written.secrets?.env ?? {})
      .filter((name) => written.env?.[name] !== undefined)
      .map((name) => ({ path: ["secrets", "env", name], message: "is in env too; state one of them" })),
    ...(written.kind === "serve" ? scaleProblems(written.scale, written.replicas) : []),
    ...(written.kind === "serve" ? overflowProblems(written.overflow) : []),
    ...(isElasticBatch ? [{ path: ["elastic"], message }] : []),
    ...checkpointProblems(written),
    ...gangProblems(written.kind === "serve" ? { ...written, elastic: null, model: null } : written),
    ...(isBare ? [{ path: ["fabric"], message: "needs within, prefer or slices" }] : []),
    ...timeProblems(written, isScheduled),
    ...(written.kind === "serve" ? [] : modelProblems(written)),
  ];
}
