/** A request for workers that are placed together or not at all. Requests are frozen values; `with` makes a variant. */
import type { ExecutorId } from "../model/fleet.ts";
import { acceptedTypes, partsOf } from "../model/gang.ts";
import type { AttemptId, NodeId, TeamName } from "../model/ids.ts";
import { minWorkersOf } from "../model/workload.ts";
import type { Attempt, GangSpec, WorkerAllocation, Workload, WorkloadSpec } from "../model/workload.ts";
import { isPreemptible } from "../policy/preemptible.ts";
import type { Rules } from "../policy/rules.ts";
import { longestDurationMs, windowDurationMs } from "../usage/planned-duration.ts";

type RequestFields = Omit<PlacementRequest, "with">;

interface RequestOptions {
  readonly rules: Rules;
  /** Number of further workers that `grows` requests; absent: the request is for a start. */
  readonly growth?: number;
  readonly grows?: AttemptId | null;
  readonly holds?: Attempt | null;
  readonly group?: number | null;
}

export class PlacementRequest {
  readonly team: TeamName;
  /** The user who submitted the workload, or one of several workloads with equal requests. */
  readonly actor: string;
  readonly spec: WorkloadSpec;
  /** The gang of the workload; for a single task group, that group as a gang. */
  readonly gang: GangSpec;
  /**
   * Accepted types in order of preference; empty: any. For a gang with task groups: every type that any group accepts.
   */
  readonly acceleratorTypes: readonly string[];
  readonly workers: number;
  /** Number of workers of each task group; `null`: the minimum of each, or the gang has no groups. */
  readonly counts: readonly number[] | null;
  readonly isPreemptible: boolean;
  /** Longest possible run time in ms; calendar windows are compared with it. */
  readonly longestMs: number;
  /** Planned run time in ms, by the walltime or a prediction; used by backfill. */
  readonly durationMs: number;
  /** Number of workers lost with their nodes: the request may use this many hot spares. */
  readonly lostWorkers: number;
  /** The running attempt that requests further workers; `null`: the request is for a start. */
  readonly grows: AttemptId | null;
  readonly isGrowth: boolean;
  /** The running attempt whose place the request may keep during a rebalance; otherwise `null`. */
  readonly holds: Attempt | null;
  /**
   * The task group of the workers; `null`: all groups, the group that lacks most workers, or the gang has no groups.
   */
  readonly group: number | null;
  /** The only nodes that may be used; `null`: all. */
  readonly among: ReadonlySet<NodeId> | null;
  /** The only executor whose nodes may be used; `null`: any. */
  readonly executor: ExecutorId | null;
  /** Data inputs that a node must hold. */
  readonly inputsHeldMin: number;
  /** Workers of the running gang that stay, where a plan evicts some of them; `undefined`: all. */
  readonly ownKept: number | undefined;
  /** Workers of the same gang that are placed together with it. */
  readonly beside: readonly WorkerAllocation[];
  /** Whether anti-affinity rules are left out, to find out whether they block the request. */
  readonly ignoresAntiAffinity: boolean;

  private constructor(base: RequestFields, changes: Partial<RequestFields> = {}) {
    const fields = { ...base, ...changes };
    this.team = fields.team;
    this.actor = fields.actor;
    this.spec = fields.spec;
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
    this.ignoresAntiAffinity = fields.ignoresAntiAffinity;
    Object.freeze(this);
  }

  static of(
    { spec, actor, lostWorkers = 0 }: Pick<Workload, "spec" | "actor" | "lostWorkers">,
    { rules, growth = 0, grows = null, holds = null, group = null }: RequestOptions,
  ): PlacementRequest {
    const { gang, team } = spec;
    const holdsGroups = holds !== null && gang.taskGroups !== undefined;
    return new PlacementRequest({
      team,
      actor,
      spec,
      gang,
      acceleratorTypes: acceptedTypes(spec),
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
      ignoresAntiAffinity: false,
    });
  }

  with(changes: Partial<RequestFields>): PlacementRequest {
    return new PlacementRequest(this, changes);
  }
}

const NO_WORKERS: readonly WorkerAllocation[] = [];
