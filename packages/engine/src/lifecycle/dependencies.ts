/** Dependencies. Names are resolved to ids at submission, and work ends if its dependency can no longer be met. */
import { artifactTitle, isRegistered, meets, parseArtifactRef } from "@headroom/model";
import type {
  TeamName,
  WorkloadId,
  AfterArtifact,
  ProducedArtifact,
  WaitsFor,
  Workload,
  WorkloadSpec,
  Rejection,
} from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import type { World } from "../cluster/world.ts";
import { asProduced, findVersion, findVersionOf } from "../state/find-artifact.ts";

export type Resolved =
  | { readonly kind: "resolved"; readonly waitsFor: readonly WaitsFor[]; readonly given: readonly ProducedArtifact[] }
  | { readonly kind: "refused"; readonly rejection: Rejection };

/**
 * The unmet dependencies in `after`. The submission is refused if a dependency is unknown, or has ended with another
 * outcome than the required one.
 */
export function resolveAfter(world: World, spec: WorkloadSpec): Resolved {
  const { team, after = [] } = spec;
  const used = resolveUsed(world, spec);
  if (used.kind === "refused") return used;
  const waitsFor: WaitsFor[] = [...used.waitsFor];
  const given: ProducedArtifact[] = [...used.given];
  for (const each of after) {
    const isArtifact = "artifact" in each;
    const found = isArtifact ? findProducer(world, team, each) : findNamed(world, team, each.workload);
    const name = isArtifact ? (each.workload ?? each.artifact) : each.workload;
    const registered = isArtifact ? registeredFor(world, team, each, found) : null;
    if (registered !== null) {
      given.push(registered);
      continue;
    }
    if (found === null) {
      const artifact = isArtifact ? { artifact: each.artifact } : {};
      return { kind: "refused", rejection: { code: "unknownDependency", name, ...artifact } };
    }
    const on = isArtifact ? "artifact" : each.on;
    const made = isArtifact ? found.artifacts?.find((artifact) => artifact.name === each.artifact) : undefined;
    if (made !== undefined && (made.version !== undefined || !isRegistered(made.name))) given.push(made);
    else if (found.endedAtMs === null)
      waitsFor.push(
        isArtifact
          ? { workloadId: found.id, on: "artifact", artifact: each.artifact }
          : { workloadId: found.id, on: each.on },
      );
    else if (!meets(on, found.phase))
      return {
        kind: "refused",
        rejection: { code: "dependencyNotMet", name, workloadId: found.id, on, phase: found.phase },
      };
  }
  return { kind: "resolved", waitsFor, given };
}

/**
 * The registered version for a dependency on an artifact whose producer has ended or is forgotten; `null`: there is none, or
 * the work waits for the producer.
 */
function registeredFor(
  { state }: World,
  team: TeamName,
  { artifact, workload }: AfterArtifact,
  producer: Workload | null,
): ProducedArtifact | null {
  if (workload !== undefined || !isRegistered(artifact) || producer?.endedAtMs === null) return null;
  const version = findVersionOf(state, team, artifact);
  return version === null ? null : asProduced(artifact, version);
}

/** Whether the workload waits for others or uses artifacts, so that `resolveAfter` has something to resolve. */
export const needsOthers = (spec: WorkloadSpec): boolean =>
  spec.after !== undefined || (namesArtifacts(spec) && artifactsUsed(spec).length > 0);

const namesArtifacts = (spec: WorkloadSpec): boolean =>
  (spec.data?.inputs ?? NO_INPUTS).length > 0 || (spec.kind === "serve" && spec.servedModel !== undefined);

const NO_INPUTS: readonly string[] = [];

/** Artifacts that the workload names as its model and its inputs. Those that it waits for come with the dependency. */
function artifactsUsed(spec: WorkloadSpec): readonly string[] {
  if (!namesArtifacts(spec)) return [];
  const { data, after = [] } = spec;
  const inputs = data?.inputs ?? [];
  const model = spec.kind === "serve" ? spec.servedModel : undefined;
  const awaited = new Set(after.map((each) => ("artifact" in each ? each.artifact : "")));
  return [...(model === undefined ? [] : [model]), ...inputs].filter((text) => {
    const ref = parseArtifactRef(text);
    return ref !== null && !(ref.at === null && ref.team === null && awaited.has(artifactTitle(ref)));
  });
}

/**
 * The versions of the used artifacts, as they are now: later versions and moved aliases change nothing for this workload.
 * If there is no version yet, the workload waits for the work that makes the first one.
 */
function resolveUsed(world: World, spec: WorkloadSpec): Resolved {
  const waitsFor: WaitsFor[] = [];
  const given: ProducedArtifact[] = [];
  for (const text of artifactsUsed(spec)) {
    const ref = parseArtifactRef(text);
    if (ref === null) continue;
    const version = findVersion(world.state, spec.team, ref);
    const name = artifactTitle(ref);
    if (version !== null) {
      if (given.every((each) => each.name !== name)) given.push(asProduced(name, version));
      continue;
    }
    const producer = ref.at === null && ref.team === null ? findProducer(world, spec.team, { artifact: name }) : null;
    if (producer === null || producer.endedAtMs !== null)
      return { kind: "refused", rejection: { code: "unknownArtifact", artifact: text } };
    waitsFor.push({ workloadId: producer.id, on: "artifact", artifact: name });
  }
  return { kind: "resolved", waitsFor, given };
}

/**
 * The workload that produces an artifact. If a workload is named, it is this one, provided that it declares the
 * artifact. Otherwise it is the team's newest workload that declares it.
 */
function findProducer(world: World, team: TeamName, { artifact, workload }: AfterArtifact): Workload | null {
  const produces = ({ spec }: Workload): boolean => spec.produces?.includes(artifact) === true;
  if (workload !== undefined) {
    const named = findNamed(world, team, workload);
    return named !== null && produces(named) ? named : null;
  }
  return newestOf(world, team, produces);
}

/** The workload with this id, else the team's newest workload with this name. */
function findNamed(world: World, team: TeamName, name: string): Workload | null {
  const byId = world.state.workloads.get(name as WorkloadId);
  if (byId !== undefined) return byId;
  return newestOf(world, team, ({ spec }) => spec.name === name);
}

function newestOf({ state }: World, team: TeamName, matches: (workload: Workload) => boolean): Workload | null {
  let newest: Workload | null = null;
  for (const workload of state.workloads.values())
    if (workload.spec.team === team && matches(workload)) newest = workload;
  return newest;
}

/** Ends work whose dependency ended with another outcome than the required one, and all work that depends on it. */
export function endHopeless(batch: Batch, ended: Workload, dependents: readonly WorkloadId[]): void {
  const { world } = batch;
  // A loop with a list instead of recursion: a pipeline may be longer than the call stack allows.
  const due: { readonly after: WorkloadId; readonly id: WorkloadId }[] = [];
  const add = (after: WorkloadId, ids: Iterable<WorkloadId>): void => {
    for (const id of Array.from(ids).toReversed()) due.push({ after, id });
  };
  add(ended.id, dependents);
  for (let next = due.pop(); next !== undefined; next = due.pop()) {
    const { after, id } = next;
    const dependent = world.state.workloads.get(id);
    const wait = dependent?.waitsFor?.find(({ workloadId }) => workloadId === after);
    if (dependent === undefined || dependent.endedAtMs !== null || wait === undefined) continue;
    add(id, world.dependents.get(id) ?? []);
    batch.emit({
      kind: "workloadEnded",
      version: 1,
      atMs: batch.nowMs,
      workloadId: id,
      phase: "cancelled",
      reason: { kind: "dependencyNotMet", workloadId: after, on: wait.on },
    });
  }
}
