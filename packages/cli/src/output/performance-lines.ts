/** Slow ranks and the bottleneck of the running attempts of a workload. */
import type { HeadroomClient, Workload, WorkloadPerformance } from "@headroom/protocol";
import { printable } from "../terminal.ts";

/** Empty for work without a running gang. */
export async function performanceOf(
  client: HeadroomClient,
  { id, phase, kind }: Pick<Workload, "id" | "phase" | "kind">,
): Promise<WorkloadPerformance["items"]> {
  return phase === "running" && kind !== "serve" ? (await client.workloadPerformance(id)).items : [];
}

/** The sentences of each attempt; with several attempts, each has a line with its id first. */
export const performanceLines = (items: WorkloadPerformance["items"]): readonly string[] =>
  items.flatMap(({ attemptId, sentences }) => [
    ...(items.length > 1 ? [`attempt ${attemptId}`] : []),
    ...sentences.map((sentence) => `  ${printable(sentence)}`),
  ]);
