/**
 * `apply`: a set of sites, pools, teams and workloads, all or nothing. Everything is checked before the first event, so
 * a refused set leaves no trace. Applying the same set again changes nothing.
 */
import { canonicalJson, declaredSpec, specDifference } from "@headroom/model";
import type {
  Command,
  PoolName,
  TeamName,
  Team,
  AfterSpec,
  WorkerAllocation,
  WaitsFor,
  Workload,
  WorkloadSpec,
  ApplyChange,
  ChangeableField,
  Rejection,
} from "@headroom/model";
import { settle } from "../apply/apply.ts";
import type { Batch } from "../batch/batch.ts";
import type { IndexedWindow } from "../cluster/calendar-index.ts";
import { knownEntry } from "../state/ended-entries.ts";
import type { ReadonlyState } from "../state/state.ts";
import type { World } from "../cluster/world.ts";
import { calendarAdmissionFailure, plannedWindow, recordEntry } from "./calendar.ts";
import { changeAdmissionFailure, cycleThrough, recordChange } from "./change-workload.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";
import { resolveAfter } from "./dependencies.ts";
import { keepQualifications } from "./qualification.ts";
import { keepPool, keepSite } from "./remove.ts";
import { pipelineAdmissionFailure, recordPipeline } from "./pipelines.ts";
import { recordSchedule, scheduleAdmissionFailure } from "./schedules.ts";
import { recordSubmission, submissionAdmissionFailure } from "./submit.ts";
import { typesAdmissionFailure } from "./types-named.ts";

type Apply = Command & { readonly kind: "apply" };
export type ApplyDocuments = Pick<
  Apply,
  "sites" | "pools" | "teams" | "workloads" | "calendar" | "schedules" | "pipelines"
>;

export function apply(batch: Batch, command: Apply): Decision {
  const { world } = batch;
  const admissionFailure = firstAdmissionFailure(world, command, { nowMs: batch.nowMs, actor: command.actor });
  if (admissionFailure !== null) return refused(admissionFailure);
  const changes = documentChanges(world.state, command);
  for (const { action, record } of changes) if (action !== "unchanged") record(batch, command.actor);
  settle(world);
  const newest = newestNamed(world, command.workloads);
  const applied = new Map<WorkloadSpec, ApplyChange>();
  for (const spec of awaitedFirst(command.workloads))
    applied.set(spec, applyWorkload(batch, spec, newest.get(nameOf(spec)), command.actor));
  const workloads = command.workloads.map((spec) => applied.get(spec) as ApplyChange);
  return done({ kind: "applied", changes: [...changes.map(changeOf), ...workloads] });
}

/** The result that `apply` would have. It changes nothing. */
export function planApply(world: World, documents: ApplyDocuments, nowMs: number): Decision {
  const admissionFailure = firstAdmissionFailure(world, documents, { nowMs, actor: null });
  if (admissionFailure !== null) return refused(admissionFailure);
  const newest = newestNamed(world, documents.workloads);
  const workloads = documents.workloads.map((spec): ApplyChange => {
    const known = newest.get(nameOf(spec));
    const action = workActionOf(known, spec);
    const common = { kind: "workload", name: spec.name, action } as const;
    if (known === undefined || !changesInPlace(known, action))
      return { ...common, workloadId: action === "unchanged" ? (known?.id ?? null) : null };
    const fields = Object.keys(specDifference(declaredSpec(known), spec).changes) as ChangeableField[];
    return { ...common, workloadId: known.id, fields };
  });
  return done({ kind: "applied", changes: [...documentChanges(world.state, documents).map(changeOf), ...workloads] });
}

interface DocumentChange extends Pick<ApplyChange, "kind" | "name" | "action"> {
  record(batch: Batch, actor: string): void;
}

const changeOf = ({ kind, name, action }: DocumentChange): ApplyChange => ({ kind, name, action, workloadId: null });

/** The changes of all documents except workloads, in the order in which they are recorded. */
function documentChanges(
  state: ReadonlyState,
  { sites, pools, teams, calendar = [], schedules = [], pipelines = [] }: ApplyDocuments,
): readonly DocumentChange[] {
  const change = (
    kind: ApplyChange["kind"],
    wanted: { readonly name: string },
    known: unknown,
    record: DocumentChange["record"],
  ): DocumentChange => ({ kind, name: wanted.name, action: actionOf(known, wanted), record });
  return [
    ...sites.map((site) =>
      change("site", site, staying(state.siteRemovals, state.sites, site.name), (batch, actor) => {
        keepSite(batch, site.name, actor);
        batch.emit({ kind: "siteDefined", version: 2, atMs: batch.nowMs, site, actor });
      }),
    ),
    ...pools.map((pool) =>
      change("pool", pool, staying(state.poolRemovals, state.pools, pool.name), (batch, actor) => {
        keepSite(batch, pool.site, actor);
        keepPool(batch, pool.name, actor);
        batch.emit({ kind: "poolDefined", version: 3, atMs: batch.nowMs, pool, actor });
        keepQualifications(batch, pool);
      }),
    ),
    ...parentsFirst(state, teams).map((team) =>
      change("team", team, state.teams.get(team.name), (batch, actor) =>
        batch.emit({ kind: "teamDefined", version: 4, atMs: batch.nowMs, team, actor }),
      ),
    ),
    ...calendar.map((entry) =>
      change("calendar", entry, knownEntry(state, entry), (batch, actor) => recordEntry(batch, entry, actor)),
    ),
    ...schedules.map((schedule) =>
      change("schedule", schedule, state.schedules.get(schedule.name)?.schedule, (batch, actor) =>
        recordSchedule(batch, schedule, actor),
      ),
    ),
    ...pipelines.map((pipeline) =>
      change("pipeline", pipeline, state.pipelines.get(pipeline.name)?.pipeline, (batch, actor) =>
        recordPipeline(batch, pipeline, actor),
      ),
    ),
  ];
}

/**
 * The declared pool or site with this name. One that is being removed differs from every declaration, because a
 * declaration cancels the removal.
 */
const staying = <Name extends string>(
  removals: ReadonlyMap<Name, unknown>,
  declared: ReadonlyMap<Name, object>,
  name: Name,
): object | undefined => (removals.has(name) ? { ...declared.get(name), isRemoved: true } : declared.get(name));

function actionOf(known: unknown, wanted: unknown): ApplyChange["action"] {
  if (known === undefined) return "created";
  return canonicalJson(known) === canonicalJson(wanted) ? "unchanged" : "changed";
}

/** Users do not set the derived fields of a submission, so a document without them describes the same work. */
function workActionOf(known: Workload | undefined, wanted: WorkloadSpec): ApplyChange["action"] {
  if (known === undefined) return "created";
  if (known.endedAtMs === null) {
    const { changes, fixed } = specDifference(declaredSpec(known), wanted);
    return Object.keys(changes).length + fixed.length === 0 ? "unchanged" : "changed";
  }
  if (wanted.gang.throughputMilli !== undefined) return actionOf(known.spec, wanted);
  const { throughputMilli: _curve, ...gang } = known.spec.gang;
  return actionOf({ ...known.spec, gang }, wanted);
}

function applyWorkload(batch: Batch, spec: WorkloadSpec, known: Workload | undefined, actor: string): ApplyChange {
  const action = workActionOf(known, spec);
  const common = { kind: "workload", name: spec.name, action } as const;
  if (known !== undefined && action === "unchanged") return { ...common, workloadId: known.id };
  if (known === undefined || !changesInPlace(known, action))
    return { ...common, workloadId: recordSubmission(batch, spec, actor) };
  const { changes } = specDifference(declaredSpec(known), spec);
  recordChange(batch, known, { changes, actor });
  return { ...common, workloadId: known.id, fields: Object.keys(changes) as ChangeableField[] };
}

/** Whether a document changes a workload that has not ended, instead of submitting a new one. */
const changesInPlace = ({ endedAtMs }: Workload, action: ApplyChange["action"]): boolean =>
  endedAtMs === null && action === "changed";

const nameOf = ({ team, name }: WorkloadSpec): string => `${team} ${name}`;

/**
 * The newest workload of each name in the specs. This pass over all workloads replaces an index that every submission
 * would have to maintain.
 */
function newestNamed({ state }: World, specs: readonly WorkloadSpec[]): ReadonlyMap<string, Workload> {
  const newest = new Map<string, Workload>();
  if (specs.length === 0) return newest;
  const wanted = new Set(specs.map(nameOf));
  const names = new Set(specs.map(({ name }) => name));
  for (const workload of state.workloads.values()) {
    if (names.has(workload.spec.name) && wanted.has(nameOf(workload.spec))) newest.set(nameOf(workload.spec), workload);
  }
  return newest;
}

/** `actor`: the user who applies the documents; `null`: whoever may change each of the workloads. */
interface Applying {
  readonly nowMs: number;
  readonly actor: string | null;
}

function firstAdmissionFailure(world: World, command: ApplyDocuments, { nowMs, actor }: Applying): Rejection | null {
  const duplicate = duplicateName(command);
  if (duplicate !== null) return duplicate;
  return (
    poolAdmissionFailure(world, command) ??
    teamAdmissionFailure(world, command.teams) ??
    typesAdmissionFailure(world, command) ??
    calendarAdmissionFailures(world, command, nowMs) ??
    workloadAdmissionFailure(world, command, actor)
  );
}

function duplicateName({
  sites,
  pools,
  teams,
  workloads,
  calendar = [],
  schedules = [],
}: ApplyDocuments): Rejection | null {
  const named = [
    ...sites.map(({ name }) => ({ kind: "site", name: String(name) })),
    ...pools.map(({ name }) => ({ kind: "pool", name: String(name) })),
    ...teams.map(({ name }) => ({ kind: "team", name: String(name) })),
    ...calendar.map(({ name }) => ({ kind: "calendar", name })),
    ...schedules.map(({ name }) => ({ kind: "schedule", name })),
    ...workloads.map(({ team, name }) => ({ kind: "workload", name: `${team} ${name}` })),
  ];
  const seen = new Set<string>();
  for (const { kind, name } of named) {
    if (seen.has(`${kind} ${name}`)) return { code: "duplicateName", kind, name };
    seen.add(`${kind} ${name}`);
  }
  return null;
}

function poolAdmissionFailure({ state }: World, { sites, pools }: ApplyDocuments): Rejection | null {
  for (const pool of pools) {
    if (!state.sites.has(pool.site) && !sites.some(({ name }) => name === pool.site))
      return { code: "unknownSite", site: pool.site };
    const known = state.pools.get(pool.name);
    const inUse = known !== undefined && [...state.nodes.values()].some((node) => node.pool === pool.name);
    // Nodes of a pool are indexed under its type and its executor, so both are fixed while the pool has nodes.
    if (inUse && known.acceleratorType !== pool.acceleratorType)
      return { code: "poolInUse", pool: pool.name, field: "accelerator" };
    if (inUse && known.mig !== undefined && known.mig !== pool.mig && hasParts(state, pool.name))
      return { code: "poolInUse", pool: pool.name, field: "mig" };
    if (inUse && known.executor !== pool.executor) return { code: "poolInUse", pool: pool.name, field: "executor" };
  }
  return null;
}

/** Whether a MIG slice of the pool's accelerators is held or nominated. The pool's MIG device cannot change then. */
function hasParts(state: ReadonlyState, pool: PoolName): boolean {
  const isPart = ({ slice, node }: WorkerAllocation): boolean =>
    slice !== undefined && state.nodes.get(node)?.pool === pool;
  return (
    [...state.attempts.values()].some(({ workers, terminating = [] }) => [...workers, ...terminating].some(isPart)) ||
    [...state.nominations.values()].some(({ workers }) => workers.some(isPart))
  );
}

function calendarAdmissionFailures(world: World, documents: ApplyDocuments, nowMs: number): Rejection | null {
  const planned = new Map<string, IndexedWindow>();
  for (const entry of documents.calendar ?? []) {
    if (actionOf(knownEntry(world.state, entry), entry) === "unchanged") continue;
    const admissionFailure = calendarAdmissionFailure(world, entry, documents, nowMs, planned);
    if (admissionFailure !== null) return admissionFailure;
    if (entry.kind !== "tariff") planned.set(entry.name, plannedWindow(world, entry, planned));
  }
  for (const schedule of documents.schedules ?? []) {
    const admissionFailure = scheduleAdmissionFailure(world, schedule, documents);
    if (admissionFailure !== null) return admissionFailure;
  }
  for (const pipeline of documents.pipelines ?? []) {
    const admissionFailure = pipelineAdmissionFailure(world, pipeline, documents);
    if (admissionFailure !== null) return admissionFailure;
  }
  return null;
}

/** Checks that every parent exists, in the state or in the set, and that teams form a tree. */
function teamAdmissionFailure({ state }: World, teams: readonly Team[]): Rejection | null {
  const after = new Map<TeamName, Team>(state.teams);
  for (const team of teams) after.set(team.name, team);
  for (const team of teams) {
    const path: TeamName[] = [team.name];
    for (let at = team.parent; at !== null;) {
      if (path.includes(at)) return { code: "teamCycle", teams: [...path.slice(path.indexOf(at)), at] };
      const parent = after.get(at);
      if (parent === undefined) return { code: "unknownTeam", team: at };
      path.push(at);
      at = parent.parent;
    }
  }
  return null;
}

/**
 * Order in which teams are recorded: by depth in the new tree. A new team then follows its parent, and moves of teams
 * form no cycle in between.
 */
function parentsFirst({ teams: known }: World["state"], teams: readonly Team[]): readonly Team[] {
  const byName = new Map(teams.map((team) => [team.name, team]));
  const depth = (team: Team): number => {
    const parent = team.parent === null ? undefined : (byName.get(team.parent) ?? known.get(team.parent));
    return parent === undefined ? 0 : 1 + depth(parent);
  };
  return teams
    .map((team) => ({ team, depth: depth(team) }))
    .toSorted((left, right) => left.depth - right.depth)
    .map(({ team }) => team);
}

function workloadAdmissionFailure(
  world: World,
  { teams, workloads }: ApplyDocuments,
  actor: string | null,
): Rejection | null {
  const known = { has: (name: TeamName) => world.state.teams.has(name) || teams.some((team) => team.name === name) };
  const newest = newestNamed(world, workloads);
  const awaited = awaitedAmong(workloads);
  const submitted = new Set<WorkloadSpec>();
  const admissionFailureOf = (spec: WorkloadSpec): Rejection | null => {
    const alone = besideSet(spec, (each) => awaited(spec, each).some((other) => submitted.has(other)));
    const admissionFailure = submissionAdmissionFailure(world, alone, known);
    return admissionFailure === null ? null : withCycle(admissionFailure, spec, awaited);
  };
  for (const spec of awaitedFirst(workloads)) {
    const last = newest.get(nameOf(spec));
    // Existing workloads are not submitted again, so no check applies to them.
    if (workActionOf(last, spec) === "unchanged") continue;
    if (last !== undefined && changesInPlace(last, "changed")) {
      const failure = changeFailure(world, last, { spec, awaited, submitted, actor });
      if (failure !== null) return failure;
      continue;
    }
    const admissionFailure = admissionFailureOf(spec);
    if (admissionFailure?.code === "unknownDependency" && admissionFailure.cycle !== undefined) {
      // If the dependencies form a cycle, the workload of the cycle that is first in the set is reported.
      const { cycle } = admissionFailure;
      const first = workloads.find(({ team, name }) => team === spec.team && cycle.includes(name));
      return (first === undefined ? null : admissionFailureOf(first)) ?? admissionFailure;
    }
    if (admissionFailure !== null) return admissionFailure;
    submitted.add(spec);
  }
  return null;
}

/**
 * The workload without its dependencies on other workloads of the same set, which have no ids yet, and without the use of artifacts that
 * these make.
 */
function besideSet(spec: WorkloadSpec, isOfSet: (each: AfterSpec) => boolean): WorkloadSpec {
  const { after = [] } = spec;
  const ofSet = after.filter(isOfSet);
  if (ofSet.length === 0) return spec;
  const made = new Set(ofSet.flatMap((each) => ("artifact" in each ? each.artifact : [])));
  const { data } = spec;
  const rest = {
    after: after.filter((each) => !ofSet.includes(each)),
    ...(data?.inputs === undefined ? {} : { data: { ...data, inputs: data.inputs.filter((each) => !made.has(each)) } }),
  };
  if (spec.kind !== "serve" || !made.has(spec.servedModel ?? "")) return { ...spec, ...rest };
  const { servedModel: _made, ...served } = spec;
  return { ...served, ...rest };
}

/** The reason why a workload that has not ended cannot become what its document says. */
function changeFailure(
  world: World,
  known: Workload,
  {
    spec,
    awaited,
    submitted,
    actor,
  }: {
    readonly spec: WorkloadSpec;
    readonly awaited: AwaitedAmong;
    readonly submitted: ReadonlySet<WorkloadSpec>;
    readonly actor: string | null;
  },
): Rejection | null {
  const { changes, fixed } = specDifference(declaredSpec(known), spec);
  if (fixed.length > 0) return { code: "workloadActive", workloadId: known.id, name: spec.name, fields: fixed };
  const { after } = changes;
  if (after === undefined) return changeAdmissionFailure(world, known, { changes, actor });
  // New work of the same set has no ids yet, so a dependency on it is not resolved here. It may not lead back.
  const unknown: Rejection = { code: "unknownDependency", name: spec.name };
  const checked = withCycle(unknown, spec, awaited);
  if (checked !== unknown) return checked;
  const cycle = cycleThrough(world, known, waitsOfSet(world, spec, awaited));
  if (cycle !== null) return { ...unknown, cycle };
  const others = after.filter((each) => !awaited(spec, each).some((other) => submitted.has(other)));
  return changeAdmissionFailure(world, known, { changes: { ...changes, after: others }, actor });
}

/** Dependencies on existing work, of the workload and of all work of the set for which it would wait. */
function waitsOfSet(world: World, spec: WorkloadSpec, awaited: AwaitedAmong): readonly WaitsFor[] {
  const reached = new Set([spec]);
  for (const each of reached)
    for (const one of each.after ?? []) for (const other of awaited(each, one)) reached.add(other);
  return [...reached].flatMap((each) => {
    const after = (each.after ?? []).filter((one) => awaited(each, one).length === 0);
    const resolved = resolveAfter(world, { ...each, after });
    return resolved.kind === "resolved" ? resolved.waitsFor : [];
  });
}

/** The workloads of the set that can meet a dependency: the named workload, or the producers of the artifact. */
type AwaitedAmong = (spec: WorkloadSpec, each: AfterSpec) => readonly WorkloadSpec[];

function awaitedAmong(workloads: readonly WorkloadSpec[]): AwaitedAmong {
  const byName = new Map(workloads.map((spec) => [nameOf(spec), spec]));
  const producers = Map.groupBy(
    workloads.flatMap((spec) => (spec.produces ?? []).map((artifact) => ({ key: `${spec.team} ${artifact}`, spec }))),
    ({ key }) => key,
  );
  return ({ team }, each) => {
    const named = each.workload === undefined ? undefined : byName.get(`${team} ${each.workload}`);
    if (!("artifact" in each)) return named === undefined ? [] : [named];
    const made = (producers.get(`${team} ${each.artifact}`) ?? []).map(({ spec }) => spec);
    return each.workload === undefined ? made : made.filter((spec) => spec === named);
  };
}

/** The workloads of the set, each after its dependencies. Workloads in a cycle keep the order of the set. */
export function awaitedFirst(workloads: readonly WorkloadSpec[]): Iterable<WorkloadSpec> {
  if (!workloads.some(({ after }) => after !== undefined)) return workloads;
  const awaited = awaitedAmong(workloads);
  const ordered = new Set<WorkloadSpec>();
  const entered = new Set<WorkloadSpec>();
  for (const first of workloads) {
    // A loop with a list instead of recursion: a pipeline may be longer than the call stack allows.
    const path = [first];
    for (let spec = path.at(-1); spec !== undefined; spec = path.at(-1)) {
      const own = spec;
      const next = entered.has(own) ? [] : (own.after ?? []).flatMap((each) => awaited(own, each));
      const ahead = next.filter((other) => !entered.has(other) && other !== own);
      entered.add(own);
      if (ahead.length > 0) path.push(...ahead.toReversed());
      else {
        path.pop();
        ordered.add(own);
      }
    }
  }
  return ordered;
}

/** If the missing dependency itself waits for this workload, a cycle is reported. */
function withCycle(admissionFailure: Rejection, spec: WorkloadSpec, awaited: AwaitedAmong): Rejection {
  if (admissionFailure.code !== "unknownDependency") return admissionFailure;
  const from = new Map<WorkloadSpec, WorkloadSpec>();
  const reached = [spec];
  for (const each of reached) {
    for (const other of (each.after ?? []).flatMap((one) => awaited(each, one))) {
      if (other === spec) {
        const cycle = [spec.name];
        for (let at: WorkloadSpec | undefined = each; at !== undefined && at !== spec; at = from.get(at))
          cycle.unshift(at.name);
        return { ...admissionFailure, cycle: [spec.name, ...cycle] };
      }
      if (from.has(other)) continue;
      from.set(other, each);
      reached.push(other);
    }
  }
  return admissionFailure;
}
