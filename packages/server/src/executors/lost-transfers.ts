/**
 * Live work that loses its last pool because an executor states that it makes no transfers (`placement/filters/transfers.ts` of the
 * engine), as after an upgrade from a build whose executors stated nothing.
 */
import { mustBeBrought } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import { asksForUploads, uploadDirsOf } from "@headroom/model";
import type { ExecutorCapabilities, ExecutorId, Workload } from "@headroom/model";

interface SeenExecutor {
  readonly id: ExecutorId;
  readonly capabilities: ExecutorCapabilities;
}

type Direction = "inputs" | "uploads";

/** A warning before the capabilities are recorded. `null`: nothing is lost, or the executor is new. */
export function lostTransfers(state: ReadonlyState, { id, capabilities }: SeenExecutor): string | null {
  const known = state.executors.get(id)?.capabilities;
  const isLost = (each: Direction): boolean =>
    known !== undefined && known[each] !== false && capabilities[each] === false;
  const lost = (["inputs", "uploads"] as const).filter(isLost);
  if (lost.length === 0) return lostDirectories(state, { id, capabilities });
  const used = new Set([...state.pools.values()].map(({ executor }) => executor));
  const others = [...used].filter((each) => each !== id).map((each) => state.executors.get(each)?.capabilities);
  let count = 0;
  for (const workload of state.workloads.values()) {
    if (workload.endedAtMs !== null) continue;
    const needs = directionsOf(state, workload);
    if (!needs.some((each) => lost.includes(each))) continue;
    if (!others.some((can) => needs.every((each) => can?.[each] !== false))) count++;
  }
  if (count === 0) return null;
  const does = { inputs: "copies no inputs from stores", uploads: "uploads no outputs" };
  const settings = { inputs: "readsStores: true", uploads: "leavesOutputs: true" };
  return (
    `the executor ${id} ${lost.map((each) => does[each]).join(" and ")}: ${count} live ${count === 1 ? "workload has" : "workloads have"} ` +
    `no pool at the next start. State ${lost.map((each) => settings[each]).join(" and ")} in its settings if they ran there without, ` +
    `or add a pool of an executor that makes their transfers (docs/how-to/use-stores.md)`
  );
}

/** Work whose outputs are in directories from which the executor does not upload; an earlier build read none of them either. */
function lostDirectories(state: ReadonlyState, { id, capabilities }: SeenExecutor): string | null {
  const known = state.executors.get(id)?.capabilities;
  const { uploads, uploadsFrom } = capabilities;
  if (known === undefined || known.uploadsFrom !== undefined || uploadsFrom === undefined || uploads === false)
    return null;
  let count = 0;
  for (const { endedAtMs, spec } of state.workloads.values())
    if (endedAtMs === null && uploadDirsOf(spec).length > 0) count++;
  return count === 0
    ? null
    : `the executor ${id} uploads only from directories that it gives to work, and below its uploadsFrom: live workloads that ask for uploads ` +
        `and name a dir or checkpoint.dir (${count}) start there again only if it is below uploadsFrom (docs/how-to/use-stores.md)`;
}

function directionsOf(state: ReadonlyState, { spec, given = [] }: Workload): readonly Direction[] {
  const { team, data } = spec;
  return [
    ...(mustBeBrought({ state }, { team, data, given }) ? (["inputs"] as const) : []),
    ...(asksForUploads(spec) ? (["uploads"] as const) : []),
  ];
}
