/**
 * A snapshot for looking ahead: what has ended and what was answered cannot change what starts next, and the text of what
 * runs is of no concern to a fork that runs nothing. Forking ten thousand workloads a dozen times costs the reading of
 * these bytes as often.
 */
import { utf8Decode, utf8Encode } from "@headroom/engine";

interface StoredWorkload {
  readonly endedAtMs: number | null;
  readonly spec: object;
}

export function leanSnapshot(snapshot: Uint8Array): Uint8Array {
  const stored = JSON.parse(utf8Decode(snapshot)) as { readonly workloads: readonly StoredWorkload[] };
  const workloads = stored.workloads
    .filter(({ endedAtMs }) => endedAtMs === null)
    .map((workload) => ({ ...workload, endedAttempts: [], spec: { ...workload.spec, run: "", env: {} } }));
  return utf8Encode(JSON.stringify({ ...stored, workloads, answers: [] }));
}
