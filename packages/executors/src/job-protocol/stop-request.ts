/** `stop.json` asks the supervisor of an attempt to stop it. */
import type { StopGang } from "@headroom/model";
import type { AttemptFiles } from "./attempt-files.ts";

/**
 * The supervisor may see only the last of several requests, so the file keeps the request whose grace period ends
 * first.
 */
export function requestStop(files: AttemptFiles, { graceTimeoutMs, reason }: StopGang): void {
  const requestedAtMs = Date.now();
  const before = files.readIfSound("stop.json");
  if (before !== null && before.requestedAtMs + before.graceTimeoutMs <= requestedAtMs + graceTimeoutMs) return;
  files.write("stop.json", { requestedAtMs, graceTimeoutMs, reason });
}
