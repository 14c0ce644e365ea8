/** Pods of others that attempts have which have not ended, so that none is taken for work that waits. */
import type { LaunchRecord, ExitRecord } from "../../job-protocol/attempt-records.ts";
import type { AttemptFiles } from "../../job-protocol/attempt-files.ts";
import { partFiles } from "../../job-protocol/attempt-parts.ts";
import { LogWriter } from "../../job-protocol/log-writer.ts";
import { readPlace } from "../executor/watched-gang.ts";

export class HeldPods {
  /** Uids by attempt. Own pods of an attempt are an empty list. */
  readonly #byAttempt = new Map<string, readonly string[]>();
  readonly #uids = new Set<string>();

  /** The record of the attempt's pods is read once. */
  hold(files: AttemptFiles): void {
    const { name } = files.key;
    if (this.#byAttempt.has(name)) return;
    const place = readPlace(files);
    if (place === null) return;
    const uids = (place.pods ?? []).map(({ uid }) => uid);
    this.#byAttempt.set(name, uids);
    for (const uid of uids) this.#uids.add(uid);
  }

  release(name: string): void {
    for (const uid of this.#byAttempt.get(name) ?? []) this.#uids.delete(uid);
    this.#byAttempt.delete(name);
  }

  has(uid: string): boolean {
    return this.#uids.has(uid);
  }
}

/**
 * Records the loss of pods of others as the end of their work, with the reason in its log. Headroom cannot start them again, and a lost
 * attempt would be placed again. Returns false if the attempt's pods are its own.
 */
export function recordAdoptedLoss(files: AttemptFiles, launch: LaunchRecord | null, detail: string): boolean {
  if (launch === null || readPlace(files)?.pods === undefined) return false;
  const log = new LogWriter(partFiles(files.key, 0).workerDir(0), "stderr", launch.log);
  log.write(Buffer.from(`headroom: ${detail}\n`));
  log.close();
  const exits = launch.environments.map((_, worker) => ({ kind: "signalled", worker, signal: "SIGKILL" }) as const);
  const endedAtMs = Date.now();
  const exit: ExitRecord = { kind: "exited", startedAtMs: endedAtMs, endedAtMs, exits, usage: [] };
  files.createDurably("exit.json", exit);
  return true;
}
