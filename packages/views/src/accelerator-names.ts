/**
 * Resolves names of accelerator types in requests. Users write a type as the catalogue, a driver or a cloud calls it,
 * or name a family; the engine compares names only literally. So every name in a request is replaced by the fleet's
 * name, or by that of the catalogue, before the engine sees it.
 */
import { canonicalJson, RESOURCES_BESIDE_TYPES } from "@headroom/model";
import type { Team as EngineTeam, WorkloadSpec as EngineSpec } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { nearestName, refuse } from "@headroom/protocol";
import type { ApplyRequest, CalendarEntry, Pool, ProblemError, TeamSpec, WorkloadSpec } from "@headroom/protocol";
import { poolsToFill, withCataloguePower } from "./catalogue-power.ts";
import { calendarEntryResource, specResource, teamSpecResource } from "./wire-forms.ts";

/** The catalogue of accelerator types: `@headroom/perf/accelerator-types`. */
export interface TypeCatalogue {
  canonicalType(name: string): string;
  familyNamed(name: string): string | undefined;
  familyOfType(name: string): string | undefined;
  powerOfType(name: string): number | undefined;
  readonly acceleratorTypeNames: readonly string[];
}

type FleetState = Pick<ReadonlyState, "pools" | "nodes">;
type PoolTypes = Pick<Pool, "name" | "acceleratorType" | "acceleratorFamily">;

export class AcceleratorNames {
  readonly #catalogue: TypeCatalogue;
  readonly #pools: FleetState["pools"];
  /** Accelerator types of the fleet, with the families to which they belong. */
  readonly types: ReadonlySet<string>;
  readonly #families: ReadonlySet<string>;

  /** `declared`: pools of the same request, whose names are already resolved. */
  constructor({ pools, nodes }: FleetState, catalogue: TypeCatalogue, declared: readonly PoolTypes[] = []) {
    this.#catalogue = catalogue;
    this.#pools = pools;
    const replaced = new Set(declared.map(({ name }) => name));
    const all = [...declared, ...[...pools.values()].filter(({ name }) => !replaced.has(name)), ...nodes.values()];
    this.types = new Set(all.map(({ acceleratorType }) => acceleratorType).filter((type) => type !== ""));
    this.#families = new Set(all.flatMap(({ acceleratorFamily }) => acceleratorFamily ?? []));
  }

  /** The fleet's name for a type or family, or else the catalogue's name. A name that neither knows stays unchanged. */
  of(name: string): string {
    const { types } = this;
    if (types.has(name)) return name;
    const family = this.#catalogue.familyNamed(name);
    if (family !== undefined) return types.has(family) && !this.#families.has(family) ? this.#typeOf(family) : family;
    return this.#typeOf(name);
  }

  #typeOf(name: string): string {
    const type = this.#catalogue.canonicalType(name);
    const isKnown = this.#catalogue.acceleratorTypeNames.includes(type);
    const same = [...this.types].find((each) => this.#catalogue.canonicalType(each) === type);
    return same ?? (isKnown ? type : name);
  }

  pool<Declared extends PoolTypes>(pool: Declared): Declared {
    const { acceleratorFamily: _ignored, ...rest } = pool;
    if (pool.acceleratorType === "") return rest as Declared;
    const recorded = this.#pools.get(pool.name as never)?.acceleratorType;
    const type = this.#catalogue.canonicalType(pool.acceleratorType);
    const isAsRecorded = recorded !== undefined && this.#catalogue.canonicalType(recorded) === type;
    const acceleratorType = isAsRecorded ? recorded : this.#typeOf(pool.acceleratorType);
    const family = this.#catalogue.familyOfType(acceleratorType);
    const isOwn = family === undefined || family === acceleratorType;
    return { ...rest, acceleratorType, ...(isOwn ? {} : { acceleratorFamily: family }) } as Declared;
  }

  list(names: readonly string[]): string[] {
    return [...new Set(names.map((name) => this.of(name)))];
  }

  spec<Spec extends Pick<WorkloadSpec, "acceleratorTypes" | "gang">>(spec: Spec): Spec {
    const { taskGroups } = spec.gang;
    const groups = taskGroups?.map((group) =>
      group.acceleratorTypes === undefined ? group : { ...group, acceleratorTypes: this.list(group.acceleratorTypes) },
    );
    return {
      ...spec,
      acceleratorTypes: this.list(spec.acceleratorTypes),
      ...(groups === undefined ? {} : { gang: { ...spec.gang, taskGroups: groups } }),
    };
  }

  calendarEntry(entry: CalendarEntry): CalendarEntry {
    return entry.kind === "reservation" && entry.acceleratorType !== undefined
      ? { ...entry, acceleratorType: this.of(entry.acceleratorType) }
      : entry;
  }

  /** The name of a resource in quotas. Cores and memory keep their names. */
  resource(name: string): string {
    return RESOURCES_BESIDE_TYPES.includes(name) ? name : this.of(name);
  }

  /**
   * Amounts by name of the resource. If two names for one type are given, the amount is ambiguous, so the request is
   * refused.
   */
  #amounts(amounts: Readonly<Record<string, number>>, pointer: string): Record<string, number> {
    const named: Record<string, number> = {};
    for (const [resource, amount] of Object.entries(amounts)) {
      const name = this.resource(resource);
      if (name in named) {
        const message = `states ${name} twice: ${resource} is another name for it`;
        const errors = [{ pointer: `${pointer}/${resource}`, message }];
        throw refuse("invalidRequest", `The request is not valid. ${pointer} ${message}.`, { errors });
      }
      named[name] = amount;
    }
    return named;
  }

  team(team: TeamSpec, pointer: string): TeamSpec {
    const of = (field: QuotaField): Partial<Pick<TeamSpec, QuotaField>> => {
      const amounts = team[field];
      return amounts === undefined ? {} : { [field]: this.#amounts(amounts, `${pointer}/${field}`) };
    };
    const { reservedTopology } = team;
    const cells = reservedTopology?.map((cell) =>
      cell.acceleratorType === undefined ? cell : { ...cell, acceleratorType: this.of(cell.acceleratorType) },
    );
    return {
      ...Object.assign({ ...team }, ...quotaFields.map(of)),
      ...(cells === undefined ? {} : { reservedTopology: cells }),
    };
  }

  /**
   * The problem of a workload that no node of the fleet can run, because none has an accepted accelerator type; `null`:
   * a node has one.
   */
  refusal(
    pointer: string,
    { acceleratorTypes, gang, waitForType }: Pick<WorkloadSpec, "acceleratorTypes" | "gang" | "waitForType">,
  ): { readonly pointer: string; readonly message: string } | null {
    if (waitForType === true) return null;
    const groups = gang.taskGroups ?? [];
    const lists =
      groups.length === 0 ? [acceleratorTypes] : groups.map((group) => group.acceleratorTypes ?? acceleratorTypes);
    const missing = lists.find((names) => names.length > 0 && !names.some((name) => this.#has(name)));
    return missing === undefined
      ? null
      : { pointer: `${pointer}/acceleratorTypes`, message: this.#missingText(missing) };
  }

  #has(name: string): boolean {
    return this.types.has(name) || this.#families.has(name);
  }

  #missingText(missing: readonly string[]): string {
    const said = `No node has accelerators of type ${missing.join(" or ")}`;
    const wait = "To wait until a node has one, use --wait-for-type (waitForType: true in a file)";
    const there = this.#nearest(missing[0] ?? "");
    const fleet = there.length === 0 ? "The fleet has no accelerators" : `Nearest in the fleet: ${there.join(", ")}`;
    return `${said}. ${fleet}${this.#meant(missing)}. ${wait}`;
  }

  /** Types of the fleet: first those of the same family, then those with the most similar names. */
  #nearest(name: string): readonly string[] {
    const family = this.#catalogue.familyOfType(name);
    const left = new Set([...this.types].toSorted());
    const found: string[] = [];
    for (const type of left)
      if (family !== undefined && this.#catalogue.familyOfType(type) === family) found.push(type);
    for (const type of found) left.delete(type);
    for (let next = nearestName(name, [...left]); next !== undefined; next = nearestName(name, [...left])) {
      found.push(next);
      left.delete(next);
    }
    return [...found, ...left].slice(0, NEAREST_MAX);
  }

  /** A name that the catalogue does not know may be a typing error. */
  #meant(missing: readonly string[]): string {
    const { acceleratorTypeNames } = this.#catalogue;
    const unknown = missing.find((name) => !acceleratorTypeNames.includes(name));
    const meant = unknown === undefined ? undefined : nearestName(unknown, acceleratorTypeNames);
    return meant === undefined ? "" : `; nearest in the catalogue: ${meant}`;
  }
}

/** Maximum number of suggested names. More would hide the intended one. */
const NEAREST_MAX = 3;

const quotaFields = ["limit", "userLimit", "guarantee", "lendingLimit", "borrowingLimit"] as const;
type QuotaField = (typeof quotaFields)[number];

type TypedState = FleetState &
  Pick<ReadonlyState, "sites" | "poolRemovals" | "workloads" | "teams" | "schedules" | "calendar" | "pipelines">;

/** The spec with the names that the fleet uses. Throws an error if no node has an accepted type. */
export function withTypesOfFleet(state: FleetState, spec: WorkloadSpec, catalogue: TypeCatalogue): WorkloadSpec {
  const names = new AcceleratorNames(state, catalogue);
  const named = names.spec(spec);
  const problem = names.refusal("", named);
  if (problem !== null) throw refuse("noSuchAccelerators", `${problem.message}.`);
  return named;
}

/**
 * The request with the names that the fleet uses. If a document equals its recorded form except for names of types, it
 * keeps the recorded names, which can be older than the catalogue or the fleet's present types. So applying it again
 * changes nothing, and none of its types is refused.
 */
export function documentsWithTypesOfFleet(
  state: TypedState,
  request: ApplyRequest,
  catalogue: TypeCatalogue,
): ApplyRequest {
  const before = new AcceleratorNames(state, catalogue);
  const declared = new Set(request.pools.map(({ name }) => name));
  const others = poolsToFill(state, request.sites, catalogue).filter(({ name }) => !declared.has(name));
  const named = request.pools.map((pool) => before.pool(pool));
  const pools = [...withCataloguePower(state, request.sites, named, catalogue), ...others];
  const names = new AcceleratorNames(state, catalogue, pools);
  const newest = newestNamed(state, request.workloads);
  const workloads = request.workloads.map((spec) => specAsRecorded(names, spec, newest.get(nameOf(spec))));
  const schedules = request.schedules?.map((schedule) => {
    const recorded = state.schedules.get(schedule.name)?.schedule.spec;
    return { ...schedule, spec: specAsRecorded(names, schedule.spec, recorded).document };
  });
  const calendar = request.calendar?.map((entry) => {
    const recorded = state.calendar.get(entry.name)?.entry;
    const resource = recorded === undefined ? undefined : calendarEntryResource(recorded);
    return asRecorded(entry, resource, (each) => names.calendarEntry(each)).document;
  });
  const pipelines = request.pipelines?.map((pipeline) => pipelineAsRecorded(names, pipeline, state));
  const problems = [
    ...workloads.flatMap(({ document, isRecorded }, at) =>
      isRecorded ? [] : (names.refusal(`/workloads/${at}`, document) ?? []),
    ),
    ...(schedules ?? []).flatMap(({ spec }, at) => names.refusal(`/schedules/${at}/spec`, spec) ?? []),
  ];
  for (const [at, { steps }] of (pipelines ?? []).entries())
    for (const [step, { isRecorded, named }] of steps.entries())
      if (named !== null && !isRecorded)
        problems.push(...[names.refusal(`/pipelines/${at}/steps/${step}/spec`, named) ?? []].flat());
  if (problems.length > 0) throw refusalOf(problems);
  return {
    ...request,
    pools,
    teams: request.teams.map((team, at) => teamAsRecorded(names, { team, at }, state.teams.get(team.name as never))),
    workloads: workloads.map(({ document }) => document),
    ...(schedules === undefined ? {} : { schedules }),
    ...(calendar === undefined ? {} : { calendar }),
    ...(pipelines === undefined ? {} : { pipelines: pipelines.map(({ document }) => document) }),
  };
}

/** Teams with their quotas by the fleet's names. Errors point into `/teams`. */
export const teamsWithTypesOfFleet = (teams: readonly TeamSpec[], names: AcceleratorNames): TeamSpec[] =>
  teams.map((team, at) => names.team(team, `/teams/${at}`));

interface NamedDocument<Document> {
  readonly document: Document;
  /** Whether the document equals the recorded one except for names of types. */
  readonly isRecorded: boolean;
}

function asRecorded<Document>(
  wanted: Document,
  recorded: Document | undefined,
  named: (document: Document) => Document,
): NamedDocument<Document> {
  const document = named(wanted);
  const isRecorded = recorded !== undefined && canonicalJson(named(recorded)) === canonicalJson(document);
  return { document: isRecorded ? recorded : document, isRecorded };
}

/**
 * The throughput curve of an elastic gang can be derived on submission, so a document without a curve describes the
 * same work.
 */
function specAsRecorded(
  names: AcceleratorNames,
  wanted: WorkloadSpec,
  known: EngineSpec | undefined,
): NamedDocument<WorkloadSpec> {
  const recorded = known === undefined ? undefined : specResource(known);
  if (recorded !== undefined && wanted.gang.throughputMilli === undefined) delete recorded.gang.throughputMilli;
  return asRecorded(wanted, recorded, (spec) => names.spec(spec));
}

type Pipeline = NonNullable<ApplyRequest["pipelines"]>[number];

interface NamedPipeline {
  readonly document: Pipeline;
  /** By step. `named`: its workload by the names of the fleet; `null`: the step has none. */
  readonly steps: readonly { readonly named: WorkloadSpec | null; readonly isRecorded: boolean }[];
}

/** The workloads of the steps are named one by one, so that a changed step does not rename the others. */
function pipelineAsRecorded(names: AcceleratorNames, pipeline: Pipeline, state: TypedState): NamedPipeline {
  const recorded = state.pipelines.get(pipeline.name)?.pipeline;
  const steps = pipeline.steps.map(({ name, spec }) => {
    if (spec === null) return { named: null, isRecorded: true };
    const known = recorded?.steps.find((each) => each.name === name)?.spec ?? undefined;
    const { document, isRecorded } = specAsRecorded(names, spec, known);
    return { named: document, isRecorded };
  });
  const document = {
    ...pipeline,
    steps: pipeline.steps.map((step, at) => ({ ...step, spec: steps[at]?.named ?? null })),
  };
  return { document, steps };
}

function teamAsRecorded(
  names: AcceleratorNames,
  { team, at }: { readonly team: TeamSpec; readonly at: number },
  known: EngineTeam | undefined,
): TeamSpec {
  const named = names.team(team, `/teams/${at}`);
  if (known === undefined) return named;
  const recorded = teamSpecResource(known);
  // Earlier versions accepted quotas that state one type under two names. Such a team is replaced.
  if (statesTypeTwice(names, recorded)) return named;
  return asRecorded(team, recorded, (each) => names.team(each, "")).document;
}

const statesTypeTwice = (names: AcceleratorNames, team: TeamSpec): boolean =>
  quotaFields.some((field) => {
    const resources = Object.keys(team[field] ?? {});
    return new Set(resources.map((resource) => names.resource(resource))).size < resources.length;
  });

const nameOf = ({ team, name }: { readonly team: string; readonly name: string }): string => `${team} ${name}`;

/** Specs of the newest workloads with the names in the request. */
function newestNamed({ workloads }: TypedState, specs: readonly WorkloadSpec[]): ReadonlyMap<string, EngineSpec> {
  const newest = new Map<string, EngineSpec>();
  const wanted = new Set(specs.map(nameOf));
  if (wanted.size === 0) return newest;
  const names = new Set(specs.map(({ name }) => name));
  for (const { spec } of workloads.values()) {
    if (names.has(spec.name) && wanted.has(nameOf(spec))) newest.set(nameOf(spec), spec);
  }
  return newest;
}

function refusalOf(errors: readonly { readonly pointer: string; readonly message: string }[]): ProblemError {
  const detail = errors.map(({ message }) => `${message}.`).join(" ");
  return refuse("noSuchAccelerators", detail, { errors: [...errors] });
}
