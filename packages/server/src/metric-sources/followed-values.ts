/** Values of metric sources about endpoints that follow them, until the control plane takes them. */
import { combineReplicas } from "@headroom/metrics";
import type { FollowedValue, PlannedEndpoint } from "./target-messages.ts";
import type { TargetReader } from "./target-reader.ts";

export class FollowedValues {
  #follows: ReadonlyMap<string, readonly string[]> = new Map();
  /** The newest values, by endpoint, source and name. */
  #taken = new Map<string, FollowedValue>();

  set endpoints(endpoints: readonly PlannedEndpoint[]) {
    this.#follows = new Map(
      endpoints.filter(({ follows }) => follows.length > 0).map((each) => [each.id, each.follows]),
    );
  }

  /** Returns what was read since the last call. */
  take(): readonly FollowedValue[] {
    const taken = [...this.#taken.values()];
    this.#taken = new Map();
    return taken;
  }

  /** Takes the answer of a query about endpoints. */
  addAnswer({ target, everyMs, endpointValues }: TargetReader, atMs: number): void {
    if (target.query === null || endpointValues === null) return;
    const { source, query } = target;
    for (const [endpoint, follows] of this.#follows) {
      const value = endpointValues.get(endpoint);
      if (value === undefined || !follows.includes(query.value)) continue;
      this.#add({ endpoint, source, name: query.value, value, atMs, everyMs, replicas: null });
    }
  }

  /** Takes the newest readings of an endpoint's replicas, each source by itself. */
  addReplicas(endpoint: string, readers: readonly TargetReader[]): void {
    const follows = this.#follows.get(endpoint);
    if (follows === undefined) return;
    const bySource = Map.groupBy(readers, ({ target }) => target.source);
    for (const [source, all] of bySource)
      for (const name of follows) {
        const found = all.flatMap((reader) => valueOf(reader, name));
        const [first] = found;
        if (first === undefined) continue;
        const combined = combineReplicas(found.map(({ value }) => ({ [name]: value })));
        this.#add({
          endpoint,
          source,
          name,
          value: combined[name] ?? Number.NaN,
          mean: found.reduce((sum, { value }) => sum + value, 0) / found.length,
          // The oldest part decides whether the value says anything about now.
          atMs: Math.min(...found.map(({ atMs }) => atMs)),
          everyMs: first.everyMs,
          replicas: first.isReplica ? found.length : null,
        });
      }
  }

  #add(value: FollowedValue): void {
    this.#taken.set(JSON.stringify([value.endpoint, value.source, value.name]), value);
  }
}

interface ReplicaValue {
  readonly value: number;
  readonly atMs: number;
  readonly everyMs: number;
  readonly isReplica: boolean;
}

/** Names come from workloads: only an own number of the reading is a value. */
function valueOf({ newest, target, everyMs, state }: TargetReader, name: string): readonly ReplicaValue[] {
  const value: unknown = newest !== null && Object.hasOwn(newest, name) ? newest[name] : undefined;
  if (typeof value !== "number" || state.readAtMs === null) return [];
  return [{ value, atMs: state.readAtMs, everyMs, isReplica: target.replica !== null }];
}
