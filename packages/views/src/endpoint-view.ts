/** Endpoints with their replicas, for gateways, the command line and the console. */
import { parseArtifactRef } from "@headroom/model";
import type { Attempt, Workload } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { ENDPOINTS_LISTED_MAX } from "@headroom/protocol";
import type { Endpoint, EndpointList } from "@headroom/protocol";
import { isReadable, type ReadableTeams } from "./readable-teams.ts";
import { isServing } from "./workload-view.ts";

export function endpointListView(state: ReadonlyState, readable: ReadableTeams = null): EndpointList {
  const items: Endpoint[] = [];
  for (const workload of state.workloads.values()) {
    if (workload.endedAtMs !== null || !isReadable(readable, workload.spec.team)) continue;
    const item = endpointView(state, workload);
    if (item !== null && items.push(item) === ENDPOINTS_LISTED_MAX) break;
  }
  return { sequence: state.sequence, items };
}

function endpointView({ attempts }: ReadonlyState, workload: Workload): Endpoint | null {
  const { id, spec, scale, phase, activeAttempts } = workload;
  if (spec.kind !== "serve" || scale === undefined) return null;
  const active = activeAttempts.flatMap((each) => attempts.get(each) ?? []);
  const { replicas: wanted, from, atMs, actor, ground } = scale;
  return {
    workloadId: id,
    name: spec.name,
    team: spec.team,
    model: servedName(spec),
    phase,
    replicas: {
      ...spec.replicas,
      wanted,
      running: active.filter(({ stop }) => stop === null).length,
      ready: active.filter(isServing).length,
    },
    lastChange: { from, atMs, actor, ground: { ...ground } },
    list: active.map(replicaView),
  };
}

const replicaView = ({ id, task, phase, ready, stop }: Attempt): Endpoint["list"][number] => ({
  attemptId: id,
  task,
  phase,
  address: ready?.address ?? null,
  draining: stop !== null,
  readySinceMs: ready?.atMs ?? null,
});

/** The name in requests: of an artifact, its name. */
function servedName({ name, servedModel }: { readonly name: string; readonly servedModel?: string }): string {
  return servedModel === undefined ? name : (parseArtifactRef(servedModel)?.name ?? servedModel);
}
