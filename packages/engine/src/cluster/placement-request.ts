/** A request for workers that are placed together or not at all. Requests are frozen values; `with` makes a variant. */
import { typeOrder, partsOf, minWorkersOf, isPreemptible } from "@headroom/model";
import type {
  ExecutorId,
  AttemptId,
  NodeId,
  TeamName,
  Attempt,
  GangSpec,
  ProducedArtifact,
  WorkerAllocation,
  Workload,
  WorkloadSpec,
  Rules,
} from "@headroom/model";
import { longestDurationMs, windowDurationMs } from "../usage/planned-duration.ts";

type RequestFields = Omit<PlacementRequest, "with">;

interface RequestOptions {
  readonly rules: Rules;
  /** Number of further workers that the running attempt `grows` requests. Absent: the request is for a start. */
  readonly growth?: number;
  readonly grows?: AttemptId | null;
  readonly holds?: Attempt | null;
  readonly group?: number | null;
}

export class PlacementRequest {
  readonly team: TeamName;
  /** The user who submitted the workload. If several workloads have equal requests, the user of one of them. */
  readonly actor: string;
  readonly spec: WorkloadSpec;
  /** Versions that the workload has from work for which it waited. Its transfers are theirs, not those of the newest versions. */
  readonly given: readonly ProducedArtifact[] | undefined;
  /** The gang of the workload. If the request is for a single task group, this group in the form of a gang. */
  readonly gang: GangSpec;
  /**
   * Accepted accelerator types in order of preference. Empty: any type. For a gang with task groups: every type that
   * any group accepts.
   */
  readonly acceleratorTypes: readonly string[];
  readonly workers: number;
  /** Number of workers of each task group. `null`: the minimum of each group, or the gang has no groups. */
  readonly counts: readonly number[] | null;
  readonly isPreemptible: boolean;
  /** Longest possible run time in ms, which is compared with calendar windows. */
  readonly longestMs: number;
  /** Planned run time in ms, by the walltime or a prediction; used by backfill. */
  readonly durationMs: number;
  /** Number of workers lost with their nodes: the request may use this many hot spares. */
  readonly lostWorkers: number;
  /** The running attempt that requests further workers, or `null` if the request is for a start. */
  readonly grows: AttemptId | null;
  readonly isGrowth: boolean;
  /** The running attempt whose place the request may keep during a rebalance. Otherwise `null`. */
  readonly holds: Attempt | null;
  /**
   * Index of the task group to which the workers belong. `null`: the workers belong to all groups or to the group that
   * lacks most workers, or the gang has no groups.
   */
  readonly group: number | null;
  /** The nodes to which the placement is restricted, or `null` if all nodes may be used. */
  readonly among: ReadonlySet<NodeId> | null;
  /** The executor to whose nodes the placement is restricted, or `null` if any may be used. */
  readonly executor: ExecutorId | null;
  /** Minimum of the weight of the work's data inputs that must be stored at a node (`placement/filters/data-places.ts`). */
  readonly inputsHeldMin: number;
  /** Number of the running gang's workers that stay if a plan evicts some of them, or `undefined` if all stay. */
  readonly ownKept: number | undefined;
  /** Other workers of the same gang, whose places are chosen in the same plan. */
  readonly beside: readonly WorkerAllocation[];
  /** The filter that is ignored, to find out whether it blocks the request. */
  readonly ignores: "antiAffinity" | "executor" | "workloadKind" | "power" | null;

  private constructor(base: RequestFields, changes: Partial<RequestFields> = {}) {
    const fields = { ...base, ...changes };
    this.team = fields.team;
    this.actor = fields.actor;
    this.spec = fields.spec;
    this.given = fields.given;
    this.gang = fields.gang;
    this.acceleratorTypes = fields.acceleratorTypes;
    this.workers = fields.workers;
    this.counts = fields.counts;
    this.isPreemptible = fields.isPreemptible;
    this.longestMs = fields.longestMs;
    this.durationMs = fields.durationMs;
    this.lostWorkers = fields.lostWorkers;
    this.grows = fields.grows;
    this.isGrowth = fields.isGrowth;
    this.holds = fields.holds;
    this.group = fields.group;
    this.among = fields.among;
    this.executor = fields.executor;
    this.inputsHeldMin = fields.inputsHeldMin;
    this.ownKept = fields.ownKept;
    this.beside = fields.beside;
    this.ignores = fields.ignores;
    Object.freeze(this);
  }

  static of(
    {
      spec,
      scale,
      actor,
      lostWorkers = 0,
      given,
    }: Pick<Workload, "spec" | "scale" | "actor" | "lostWorkers" | "given">,
    { rules, growth = 0, grows = null, holds = null, group = null }: RequestOptions,
  ): PlacementRequest {
    const { gang, team } = spec;
    const holdsGroups = holds !== null && gang.taskGroups !== undefined;
    return new PlacementRequest({
      team,
      actor,
      spec,
      given,
      gang,
      acceleratorTypes: typeOrder({ spec, ...(scale === undefined ? {} : { scale }) }),
      workers: holds?.workers.length ?? (growth > 0 ? growth : minWorkersOf(gang)),
      counts: holdsGroups ? partsOf(gang, holds.workers).map(({ workers }) => workers) : null,
      isPreemptible: isPreemptible(rules, spec),
      longestMs: windowDurationMs(rules, spec),
      durationMs: longestDurationMs(rules, spec),
      lostWorkers,
      grows,
      isGrowth: growth > 0,
      holds,
      group,
      among: null,
      executor: null,
      inputsHeldMin: 0,
      ownKept: undefined,
      beside: NO_WORKERS,
      ignores: null,
    });
  }

  with(changes: Partial<RequestFields>): PlacementRequest {
    return new PlacementRequest(this, changes);
  }
}

const NO_WORKERS: readonly WorkerAllocation[] = [];
