/** The present usage of the workers of a job, from the signs of life of its parts. */
import type { WorkerUsage } from "../../executor.ts";
import type { AttemptFiles } from "../../job-protocol/attempt-files.ts";
import { partFiles, partsOf, usageByRank } from "../../job-protocol/attempt-parts.ts";
import { ALIVE_MS } from "../agent/part-supervisor.ts";

const USAGE_TIMEOUT_MS = 3 * ALIVE_MS;
const USAGE_POLL_MS = 200;

/** The usage in the next sign of life of each part, or in the last one if none comes. */
export async function freshUsage(files: AttemptFiles): Promise<readonly WorkerUsage[]> {
  const launch = files.read("launch.json");
  if (launch === null) return [];
  const parts = partsOf(launch).map((part, index) => ({ part, own: partFiles(files.key, index) }));
  const counts = (): readonly number[] => parts.map(({ own }) => own.readIfSound("alive.json")?.count ?? 0);
  const before = counts();
  const endMs = performance.now() + USAGE_TIMEOUT_MS;
  while (
    performance.now() < endMs &&
    counts().some((count, index) => count === before[index]) &&
    !files.has("exit.json")
  )
    await new Promise((resolve) => setTimeout(resolve, USAGE_POLL_MS));
  return parts
    .flatMap(({ part, own }) => usageByRank(part, own.readIfSound("alive.json")?.usage ?? []))
    .toSorted((a, b) => a.worker - b.worker);
}
