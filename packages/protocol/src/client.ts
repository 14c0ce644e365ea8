/**
 * The one way in which console, CLI and tests talk to a control plane. Two transports implement it: HTTP (`http-client.ts`)
 * and messages to a worker (`worker-client.ts`), so that the console does not know whether it shows a live fleet or a
 * simulated one. Every refusal is a thrown `ProblemError`; an aborted call throws the signal's reason.
 */
import type { WorkloadKind, WorkloadSpecInput } from "@headroom/spec";
import type { CapacityHistory } from "./capacity-history.ts";
import type { ApplyPlan, ApplyRequestInput } from "./apply.ts";
import type { CalendarList, CalendarRemoved } from "./calendar.ts";
import type { Defragmentation } from "./defragmentation.ts";
import type { EventEnvelope } from "./event.ts";
import type { Fleet, Node, NodeAccepted, NoticeAccepted, NoticeRequestInput } from "./fleet.ts";
import type { WorkloadHistory } from "./history.ts";
import type { AttemptMetrics, MetricsQuery } from "./metrics.ts";
import type {
  ExpectedStart,
  StartEstimate,
  StartingChanges,
  SubmissionForecast,
  WhatIfAnswer,
  WhatIfQuestionInput,
} from "./forecast.ts";
import type { LogChunk, WorkloadUsage } from "./output.ts";
import type { Page, PageRequest } from "./page.ts";
import type { Policy, PolicyChoice, PolicySet } from "./policy.ts";
import type { FleetPredictions, WorkloadModelInput, WorkloadPredictions } from "./predictions.ts";
import type { Replay, ReplayAccepted, ReplayQuestionInput } from "./replay.ts";
import type { ScheduleList, ScheduleRemoved } from "./schedule.ts";
import type { SizingAnswer, SizingQuestionInput } from "./sizing.ts";
import type { Snapshot, SnapshotQuery } from "./snapshot.ts";
import type { LoginLink, Status } from "./status.ts";
import type { Team, TeamRemoved } from "./team.ts";
import type { QueuePage, Verdict } from "./verdict.ts";
import type { WasteList } from "./waste.ts";
import type { Workload, WorkloadAccepted, WorkloadPhase, WorkloadSummary } from "./workload.ts";

/** The part of the platform's `AbortSignal` that the client uses; the real one fits. */
export interface Abort {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

export interface CallOptions {
  readonly signal?: Abort | undefined;
}

export interface CommandOptions extends CallOptions {
  /** A retry with the same key gets the first answer again. The HTTP transport makes one up where it is left out. */
  readonly idempotencyKey?: string | undefined;
}

export interface QueueQuery extends PageRequest {
  /** The team and all teams below it. */
  readonly team?: string | undefined;
  readonly kind?: WorkloadKind | undefined;
  /** Exactly this name. */
  readonly name?: string | undefined;
  /** Part of the name or the id, case ignored. */
  readonly search?: string | undefined;
}

export interface QueuePageQuery extends QueueQuery {
  /** Count what waits and is not in the queue, too: every workload there is is looked at. */
  readonly holdReason?: boolean | undefined;
}

export interface ExpectedStartQuery extends PageRequest {
  /** Only this team and the teams below it. */
  readonly team?: string | undefined;
}

export interface WorkloadQuery extends QueueQuery {
  readonly phase?: WorkloadPhase | undefined;
  /** Who submitted it. */
  readonly actor?: string | undefined;
  /** A node on which an attempt of it is or was. */
  readonly node?: string | undefined;
  readonly submittedFromMs?: number | undefined;
  /** Default `newest`. */
  readonly order?: "newest" | "oldest" | undefined;
}

export interface LogQuery {
  /** Default: the newest attempt (of task 0 for a batch); with `follow`, also the ones after it. */
  readonly attempt?: string | undefined;
  /** Default: all workers. */
  readonly worker?: number | undefined;
  readonly stream?: "stdout" | "stderr" | undefined;
  readonly follow?: boolean | undefined;
  /** Only the newest lines of each file; default: from the beginning of what is kept. */
  readonly tailLines?: number | undefined;
  /** Only lines written at or after this instant. */
  readonly sinceMs?: number | undefined;
  readonly signal?: Abort | undefined;
}

export interface HeadroomClient {
  listWorkloads(query?: WorkloadQuery, options?: CallOptions): Promise<Page<WorkloadSummary>>;
  getWorkload(id: string, options?: CallOptions): Promise<Workload>;
  submitWorkload(spec: WorkloadSpecInput, options?: CommandOptions): Promise<WorkloadAccepted>;
  stopWorkload(id: string, options?: CommandOptions): Promise<WorkloadAccepted>;
  /** Nothing more of it starts; what runs goes on. */
  holdWorkload(id: string, options?: CommandOptions): Promise<WorkloadAccepted>;
  /** The tasks of an ended workload that did not succeed run again, behind its earlier attempts. */
  rerunWorkload(id: string, options?: CommandOptions): Promise<WorkloadAccepted>;
  releaseWorkload(id: string, options?: CommandOptions): Promise<WorkloadAccepted>;
  explainWorkload(id: string, options?: CallOptions): Promise<Verdict>;
  /** The smallest change of each kind that would start it now; each was tried on a fork. */
  startingChanges(id: string, options?: CallOptions): Promise<StartingChanges>;
  /** When it will start, from forward runs on forks; `notWaiting` where it does not wait to start. */
  estimateStart(id: string, options?: CallOptions): Promise<StartEstimate>;
  /** The same of everything that waits, what is expected to start first foremost. */
  expectedStarts(query?: ExpectedStartQuery, options?: CallOptions): Promise<Page<ExpectedStart>>;
  /** What would become of it if it were submitted now; nothing is recorded. */
  forecastWorkload(spec: WorkloadSpecInput, options?: CallOptions): Promise<SubmissionForecast>;
  /** The next hours beside what they would be; nothing is recorded. */
  whatIf(question: WhatIfQuestionInput, options?: CallOptions): Promise<WhatIfAnswer>;
  /** The present state as bytes, from which an engine of the same version restores itself. */
  snapshot(query?: SnapshotQuery, options?: CallOptions): Promise<Snapshot>;
  /** Begins to decide what was recorded again; ask `replay` how far it is. */
  startReplay(question: ReplayQuestionInput, options?: CommandOptions): Promise<ReplayAccepted>;
  replay(id: string, options?: CallOptions): Promise<Replay>;
  cancelReplay(id: string, options?: CommandOptions): Promise<ReplayAccepted>;
  /** What happened to it, from the events; of one attempt where its id is given. */
  workloadHistory(
    id: string,
    query?: { readonly attempt?: string | undefined },
    options?: CallOptions,
  ): Promise<WorkloadHistory>;
  /** What waits, in the order in which the policy considers it, each with its dominant reason. */
  queue(query?: QueuePageQuery, options?: CallOptions): Promise<QueuePage>;
  /** `forecast`, with `dryRun`: what would become of the first workloads that it would create. */
  apply(
    request: ApplyRequestInput,
    options?: CommandOptions & { readonly dryRun?: boolean; readonly forecast?: boolean },
  ): Promise<ApplyPlan>;
  /** What is held or asked for and not used, as far as was told; of one workload where its id is given. */
  waste(query?: { readonly workload?: string | undefined }, options?: CallOptions): Promise<WasteList>;
  /** What would be moved now to gather idle accelerators; nothing is. */
  defragmentation(options?: CallOptions): Promise<Defragmentation>;
  fleet(options?: CallOptions): Promise<Fleet>;
  capacityHistory(options?: CallOptions): Promise<CapacityHistory>;
  listNodes(page?: PageRequest, options?: CallOptions): Promise<Page<Node>>;
  getNode(id: string, options?: CallOptions): Promise<Node>;
  drainNode(id: string, options?: CommandOptions & { readonly running?: "wait" | "requeue" }): Promise<NodeAccepted>;
  resumeNode(id: string, options?: CommandOptions): Promise<NodeAccepted>;
  /** Whoever lends the node takes it away then: what runs there is stopped in time or goes on elsewhere. */
  noticeNode(id: string, request: NoticeRequestInput, options?: CommandOptions): Promise<NoticeAccepted>;
  /** It stays after all. */
  withdrawNotice(id: string, options?: CommandOptions): Promise<NodeAccepted>;
  teams(page?: PageRequest, options?: CallOptions): Promise<Page<Team>>;
  removeTeam(name: string, options?: CommandOptions): Promise<TeamRemoved>;
  schedules(options?: CallOptions): Promise<ScheduleList>;
  removeSchedule(name: string, options?: CommandOptions): Promise<ScheduleRemoved>;
  /** What is planned, the next first. */
  calendar(options?: CallOptions): Promise<CalendarList>;
  removeCalendarEntry(name: string, options?: CommandOptions): Promise<CalendarRemoved>;
  policy(options?: CallOptions): Promise<Policy>;
  setPolicy(choice: PolicyChoice, options?: CommandOptions): Promise<PolicySet>;
  presets(options?: CallOptions): Promise<{ readonly items: readonly Policy[] }>;
  /** Asks the performance model; nothing of the fleet is read or changed. */
  size(question: SizingQuestionInput, options?: CallOptions): Promise<SizingAnswer>;
  /** Durable events from a sequence on (default 1), then live ones, until aborted. `from: "next"`: only what comes. */
  events(query?: { readonly from?: number | "next"; readonly signal?: Abort }): AsyncIterable<EventEnvelope>;
  logs(id: string, query?: LogQuery): AsyncIterable<LogChunk>;
  usage(id: string, options?: CallOptions): Promise<WorkloadUsage>;
  /** What its attempts reported, those that reported first foremost; a page holds 20 attempts unless `limit` says otherwise. */
  metrics(id: string, query?: MetricsQuery, options?: CallOptions): Promise<Page<AttemptMetrics>>;
  /** Names the model that the workload trains, instead of one that was named before. */
  declareModel(id: string, model: WorkloadModelInput, options?: CommandOptions): Promise<WorkloadAccepted>;
  /** Predicted and measured steps of its attempts. */
  predictions(id: string, options?: CallOptions): Promise<WorkloadPredictions>;
  /** Predictions beside measured runs of the fleet, and the correction that follows from them. */
  fleetPredictions(options?: CallOptions): Promise<FleetPredictions>;
  status(options?: CallOptions): Promise<Status>;
  /** A link that signs a browser in, once. `notSupported` where there is no server. */
  createLoginLink(options?: CommandOptions): Promise<LoginLink>;
}
