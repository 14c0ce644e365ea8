/** One attempt: where its pods are, and what this process has seen of it. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import path from "node:path";
import type { AttemptId } from "@headroom/model";
import { z } from "zod";
import type { AttemptFiles } from "../../job-protocol/attempt-files.ts";
import { isMissing } from "../../job-protocol/attempt-files.ts";
import type { ProgressReports } from "../../job-protocol/progress-reports.ts";
import type { WrittenOnce } from "../../job-protocol/recorded-state.ts";
import type { GangMemory } from "./gang-judge.ts";
import { newMemory } from "./gang-judge.ts";
import { podName } from "./pod-names.ts";
import type { LogCollector } from "./log-collector.ts";

/** The pods of an attempt. It is recorded before the launch, because settings can change. */
const podPlace = z.object({
  version: z.union([z.literal(1), z.literal(2)]),
  namespace: z.string(),
  base: z.string(),
  /** Pods of others by rank. Absent: the attempt's own pods. */
  pods: z.array(z.object({ name: z.string(), uid: z.string(), container: z.string() })).optional(),
  /** Data rule of the work, whose log is not kept on this machine. Absent: it is kept. */
  logRule: z.string().optional(),
  /** Paths of staged inputs below the shared directory. Absent: none. */
  inputs: z.array(z.string()).optional(),
});
export type PodPlace = z.infer<typeof podPlace>;

/** The pod of a rank. `uid`: set for pods of others, whose names their owners give again. */
export function podAt({ base, pods }: PodPlace, rank: number): { readonly name: string; readonly uid?: string } {
  const adopted = pods?.[rank];
  return adopted === undefined ? { name: podName(base, rank) } : { name: adopted.name, uid: adopted.uid };
}

const PLACE_FILE = "pods.json";

/** `null`: no launch was recorded. Records are out of reach of workers, so they need no authentication code. */
export function readPlace({ recordsDir }: AttemptFiles): PodPlace | null {
  try {
    return podPlace.parse(JSON.parse(readFileSync(path.join(recordsDir, PLACE_FILE), "utf8")));
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** The record is on disk when the promise resolves; its name is synced with that of the launch. */
export async function recordPlace({ recordsDir }: AttemptFiles, place: PodPlace): Promise<void> {
  // Another instance may record the same launch.
  const draft = path.join(recordsDir, `.${PLACE_FILE}.${randomUUID()}`);
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(JSON.stringify(place));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path.join(recordsDir, PLACE_FILE));
}

export interface WatchedGang {
  readonly name: string;
  readonly attemptId: AttemptId;
  readonly files: AttemptFiles;
  readonly isAdopted: boolean;
  readonly memory: GangMemory;
  /** The launch of a thousand workers is a megabyte, and is looked at every second. */
  readonly known: WrittenOnce;
  /** Logs by rank. */
  readonly logs: Map<number, LogCollector>;
  /** Ends of grace by rank, in ms of the clock, with which the pods were deleted. */
  readonly deletedUntilMs: Map<number, number>;
  isRunningTold: boolean;
  progress: ProgressReports | null;
  /** The next creation or binding is not before this time (`performance.now()`). */
  retryAtMs: number;
  retries: number;
  /** Since when no call of its start has been answered (`performance.now()`); `null`: the newest one was. */
  silentSinceMs: number | null;
  /** Resolved when the upload of what the attempt made begins, which can take an hour. */
  readonly uploading: PromiseWithResolvers<void>;
}

export const watchedGang = (attemptId: AttemptId, files: AttemptFiles, isAdopted: boolean): WatchedGang => ({
  name: files.key.name,
  attemptId,
  files,
  isAdopted,
  memory: newMemory(),
  known: { launch: null, isRunning: false },
  logs: new Map(),
  deletedUntilMs: new Map(),
  isRunningTold: false,
  progress: null,
  retryAtMs: 0,
  retries: 0,
  silentSinceMs: null,
  uploading: Promise.withResolvers(),
});

const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 5_000;

/** Notes a call that failed, and delays the next one. */
export function delayRetry(watched: WatchedGang): void {
  watched.retryAtMs = performance.now() + Math.min(RETRY_FIRST_MS * 2 ** Math.min(watched.retries, 10), RETRY_MAX_MS);
  watched.retries += 1;
}
