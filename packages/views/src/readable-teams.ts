/** The teams whose work a reader may see, and the teams to which work belongs. */
import type { ReadonlyState } from "@headroom/engine";
import type { AttemptId, TeamName, WorkloadId } from "@headroom/model";
import type { CapacityHistory } from "@headroom/protocol";

/** Teams whose work the reader may see; `null`: all. */
export type ReadableTeams = ReadonlySet<string> | null;

/** The parts of the state that name work, users and teams. */
export type NamedState = Pick<
  ReadonlyState,
  "attempts" | "calendar" | "nodes" | "pipelineRuns" | "pipelines" | "proposals" | "schedules" | "teams" | "workloads"
>;

export const isReadable = (readable: ReadableTeams, team: string): boolean => readable === null || readable.has(team);

/** The team of a workload, or of the workload of an attempt; `null`: it is not known any more. */
export function teamOfWork({ workloads, attempts }: NamedState, id: string): TeamName | null {
  const workload =
    workloads.get(id as WorkloadId) ?? workloads.get(attempts.get(id as AttemptId)?.workloadId ?? ("" as WorkloadId));
  if (workload !== undefined) return workload.spec.team;
  // Ids of attempts are the workload's id with the number of the attempt, and in arrays the task before it.
  const [, base = "", task = ""] = /^(.+?)((?:\.\d+)?)\.\d+$/.exec(id) ?? [];
  return (workloads.get(`${base}${task}` as WorkloadId) ?? workloads.get(base as WorkloadId))?.spec.team ?? null;
}

/** The samples with the teams that the reader may see. */
export const readableHistory = (history: CapacityHistory, readable: ReadableTeams): CapacityHistory =>
  readable === null
    ? history
    : {
        ...history,
        samples: history.samples.map((sample) => ({
          ...sample,
          teams: Object.fromEntries(Object.entries(sample.teams).filter(([name]) => readable.has(name))),
        })),
      };
