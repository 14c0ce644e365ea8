/** Endpoints with their replicas and load, for gateways, the command line and the console. */
import { parseArtifactRef } from "@headroom/model";
import type { Attempt, Workload } from "@headroom/model";
import { endpointsOf } from "@headroom/engine";
import type { Engine, ReadonlyState } from "@headroom/engine";
import { ENDPOINTS_LISTED_MAX } from "@headroom/protocol";
import type { Endpoint, EndpointList, EndpointLoad, ScalingState } from "@headroom/protocol";
import { isReadable, type ReadableTeams } from "./readable-teams.ts";
import { isServing } from "./workload-view.ts";

/** The load of endpoints as gateways report it. It is not part of the engine's state. */
export interface EndpointReadings {
  load(workloadId: string): EndpointLoad | null;
  scaling(workloadId: string): ScalingState | null;
  /** Requests in progress at an address; `null`: unknown. */
  requestsAt(workloadId: string, address: string): number | null;
}

const noReadings: EndpointReadings = { load: () => null, scaling: () => null, requestsAt: () => null };

export interface EndpointListOptions {
  readonly nowMs: number;
  readonly readable?: ReadableTeams;
  readonly readings?: EndpointReadings;
}

export function endpointListView(
  engine: Engine,
  { nowMs, readable = null, readings = noReadings }: EndpointListOptions,
): EndpointList {
  const { state } = engine;
  const items: Endpoint[] = [];
  for (const workload of endpointsOf(engine)) {
    if (!isReadable(readable, workload.spec.team)) continue;
    const item = endpointView(state, workload, readings);
    if (item !== null && items.push(item) === ENDPOINTS_LISTED_MAX) break;
  }
  return { sequence: state.sequence, nowMs, items };
}

function endpointView({ attempts }: ReadonlyState, workload: Workload, readings: EndpointReadings): Endpoint | null {
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
    autoscaled: spec.scale !== undefined,
    load: readings.load(id),
    scaling: spec.scale === undefined ? null : readings.scaling(id),
    list: active.map((attempt) => replicaView(attempt, readings)),
  };
}

const replicaView = (
  { id, workloadId, task, phase, ready, stop }: Attempt,
  readings: EndpointReadings,
): Endpoint["list"][number] => ({
  attemptId: id,
  task,
  phase,
  address: ready?.address ?? null,
  draining: stop !== null,
  readySinceMs: ready?.atMs ?? null,
  requests: ready === undefined ? null : readings.requestsAt(workloadId, ready.address),
});

/** The name in requests: of an artifact, its name. */
function servedName({ name, servedModel }: { readonly name: string; readonly servedModel?: string }): string {
  return servedModel === undefined ? name : (parseArtifactRef(servedModel)?.name ?? servedModel);
}
