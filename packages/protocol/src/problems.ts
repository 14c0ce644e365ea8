/**
 * All problems that the API, the clients and the CLI report, with one row for each: code, HTTP status, exit code. Codes
 * are never renamed, because programs read them.
 */
import { z } from "zod";

/** Exit codes other than 0 for success. `unsatisfied`: the request is valid but cannot be met in the present state. */
export const exitCodes = { failed: 1, usage: 2, unsatisfied: 3 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export interface ProblemKind {
  readonly status: number;
  readonly exitCode: ExitCode;
  readonly title: string;
  /** True: the same request may succeed later, unchanged. */
  readonly retryable: boolean;
}

const { failed, usage, unsatisfied } = exitCodes;
const kind = (status: number, exitCode: ExitCode, title: string): ProblemKind => ({
  status,
  exitCode,
  title,
  retryable: false,
});
const passing = (status: number, title: string): ProblemKind => ({ status, exitCode: failed, title, retryable: true });

/** Every code `unknown…` has the exit code `failed`, whichever resource does not exist. */
export const problemKinds = {
  // Refusals of the engine: the codes of its `Rejection`.
  unknownTeam: kind(422, failed, "There is no such team"),
  teamCycle: kind(422, usage, "Teams must not be parents of each other"),
  teamInUse: kind(409, failed, "The team is in use"),
  unknownSite: kind(422, failed, "There is no such site"),
  unknownWorkload: kind(404, failed, "There is no such workload"),
  workloadEnded: kind(409, failed, "The workload has already ended"),
  workloadNotEnded: kind(409, failed, "The workload has not ended"),
  cannotRerun: kind(409, failed, "The workload cannot run again"),
  cannotChange: kind(409, failed, "The field cannot change now"),
  noRollout: kind(409, failed, "No rollout of the endpoint is in progress"),
  notRunning: kind(409, failed, "No attempt of the workload runs"),
  unknownTask: kind(404, failed, "The workload has no such task"),
  taskEnded: kind(409, failed, "The task has already ended"),
  unknownWorker: kind(404, failed, "The attempt has no such worker"),
  notWaiting: kind(409, failed, "The workload is not waiting to start"),
  workloadActive: kind(409, failed, "Another workload with this name has not ended"),
  duplicateName: kind(422, usage, "The same name is given twice"),
  unknownNode: kind(404, failed, "There is no such node"),
  fleetInUse: kind(409, failed, "Work runs on the part of the fleet that is to be removed"),
  unknownSuite: kind(422, usage, "No executor can run the suite of the pool's rule"),
  noQualification: kind(409, failed, "The pool of the node has no rule of qualification"),
  removedWithPool: kind(409, failed, "The pool of the node is being removed"),
  nodeLost: kind(409, failed, "The node is already lost"),
  noticeOver: kind(422, usage, "The announced departure of the node is in the past"),
  reservedName: kind(422, usage, "The name is reserved"),
  unknownPool: kind(422, failed, "There is no such pool"),
  unknownArtifact: kind(404, failed, "There is no such artifact"),
  ambiguousArtifact: kind(409, usage, "Several teams have an artifact of this name"),
  tooManyArtifacts: kind(422, failed, "The registry of artifacts has reached a limit"),
  artifactInUse: kind(409, failed, "Something depends on the version of the artifact"),
  artifactOnHold: kind(409, failed, "The version of the artifact is on legal hold"),
  aliasGated: kind(409, failed, "A gate lets the alias move by an approved proposal only"),
  gateFailed: kind(409, failed, "The version does not pass the gate of the alias"),
  artifactUnchanged: kind(409, failed, "The version of the artifact is in that state already"),
  unknownCapacityOrder: kind(404, failed, "There is no such capacity order"),
  capacityOrderExists: kind(409, failed, "An order of this name is not over"),
  tooManyCapacityOrders: kind(422, failed, "Too many capacity orders are open"),
  unknownNodeShape: kind(422, usage, "The shape of the ordered nodes is not known"),
  cannotAdvanceOrder: kind(409, failed, "The order cannot go from its phase to that one"),
  unknownRemediation: kind(404, failed, "There is no such remediation"),
  unknownRemediationRun: kind(404, failed, "There is no such run of a remediation"),
  remediationRunOver: kind(409, failed, "The run of the remediation is over"),
  remediationNotAllowed: kind(403, failed, "The remediation does not name the pools of all nodes"),
  unknownDrill: kind(404, failed, "There is no such drill"),
  drillNotAllowed: kind(403, failed, "Drills are not allowed on all of these nodes"),
  drillRunning: kind(409, failed, "Another drill is running"),
  drillOver: kind(409, failed, "The drill is over"),
  unknownIncident: kind(404, failed, "There is no such incident"),
  unknownProposal: kind(404, failed, "There is no such proposal"),
  proposalExists: kind(409, failed, "An open proposal asks for the same change"),
  tooManyProposals: kind(422, failed, "Too many proposals are open"),
  proposalDecided: kind(409, failed, "The proposal is decided already"),
  proposalNotSimulated: kind(409, failed, "The proposal has not been simulated"),
  proposalOnlyAdvises: kind(409, failed, "Proposals of this kind are advice"),
  ownProposal: kind(409, failed, "Another user decides"),
  othersProposal: kind(409, failed, "Only the user who proposed withdraws"),
  changeBudgetUsed: kind(409, failed, "The budget of change is used up"),
  unknownCalendarEntry: kind(404, failed, "The calendar has no such entry"),
  unknownSchedule: kind(404, failed, "There is no such schedule"),
  unknownPipeline: kind(404, failed, "There is no such pipeline"),
  unknownPipelineRun: kind(404, failed, "There is no such run of a pipeline"),
  unknownPipelineStep: kind(404, failed, "The run has no such step"),
  pipelineInvalid: kind(422, usage, "The pipeline cannot run"),
  pipelineParam: kind(422, usage, "The parameters do not fit the pipeline"),
  pipelineNotTriggered: kind(409, failed, "The pipeline has no such trigger"),
  pipelineRunNotEnded: kind(409, failed, "The run has not ended"),
  pipelineRunEnded: kind(409, failed, "The run has already ended"),
  stepAwaitsProposal: kind(409, failed, "The step waits for the decision about its proposal"),
  stepNotAwaitingApproval: kind(409, failed, "The step waits for no approval"),
  tooManyPipelines: kind(422, unsatisfied, "There are too many pipelines, runs or steps"),
  neverDue: kind(422, usage, "The schedule is never due"),
  windowOver: kind(422, usage, "The window has already ended"),
  reservationTooLarge: kind(422, unsatisfied, "Not enough capacity can be reserved for that period"),
  poolInUse: kind(409, failed, "The pool is in use"),
  tooManyTypes: kind(422, usage, "Pools and teams name too many accelerator types"),
  tooLarge: kind(422, unsatisfied, "The fleet is too small for the workload, even if it were empty"),
  unknownDependency: kind(422, failed, "The workload depends on a workload that does not exist"),
  dependencyNotMet: kind(422, unsatisfied, "The dependency has ended and was not met"),
  noSuchAccelerators: kind(422, unsatisfied, "No node has such accelerators"),
  queueFull: { status: 503, exitCode: unsatisfied, title: "The queue is full", retryable: true },
  idempotencyKeyReused: kind(409, failed, "The idempotency key belongs to another request"),

  // Problems that the HTTP layer reports.
  invalidJson: kind(400, usage, "The body is not valid JSON"),
  invalidRequest: kind(422, usage, "The request is not valid"),
  invalidCursor: kind(400, usage, "The cursor does not belong to this list"),
  unauthorized: kind(401, failed, "Authentication is needed"),
  permissionDenied: kind(403, failed, "The permission is missing"),
  ambiguousHost: kind(400, failed, "The request has several Host headers"),
  forbiddenHost: kind(403, failed, "The Host header is not one of this server's names"),
  forbiddenOrigin: kind(403, failed, "Requests from another origin are refused"),
  loginCodeInvalid: kind(403, failed, "The login link is used up, expired or wrong"),
  notFound: kind(404, failed, "There is no such address"),
  unknownTeamName: kind(404, failed, "There is no such team"),
  unknownPoolName: kind(404, failed, "There is no such pool"),
  executorReachable: kind(409, failed, "The executor answers"),
  unknownExecutor: kind(404, failed, "There is no such executor"),
  noHistory: kind(404, failed, "No past work of the executor was imported"),
  tooManyExecutors: kind(422, failed, "Too many executors are declared"),
  unknownMetricSource: kind(404, failed, "There is no such metric source"),
  metricSourceConflict: kind(422, failed, "Another metric source is in the way"),
  tooManyMetricSources: kind(422, failed, "Too many metric sources are declared"),
  unknownStore: kind(404, failed, "There is no such store"),
  storeConflict: kind(422, failed, "Another store has this place"),
  tooManyStores: kind(422, failed, "Too many stores are declared"),
  unknownSiteName: kind(404, failed, "There is no such site"),
  unknownDomain: kind(422, failed, "There is no such failure domain"),
  unknownPreset: kind(422, failed, "There is no such policy preset"),
  noGateway: kind(404, failed, "No gateway is configured"),
  gatewayUnavailable: passing(502, "The gateway does not answer"),
  unknownReplay: kind(404, failed, "There is no such replay"),
  unknownAttempt: kind(404, failed, "There is no such attempt"),
  unknownToken: kind(404, failed, "There is no such token"),
  tokenExists: kind(409, failed, "A token has this name already"),
  tooManyTokens: kind(422, unsatisfied, "There are too many tokens"),
  unknownExec: kind(404, failed, "There is no such command session"),
  cannotExec: kind(422, failed, "No command can be run inside this worker"),
  methodNotAllowed: kind(405, failed, "The method is not allowed here"),
  notAcceptable: kind(406, failed, "None of the accepted media types can be produced"),
  bodyTooLarge: kind(413, usage, "The body is too large"),
  snapshotTooLarge: kind(422, unsatisfied, "The state is larger than the client accepts"),
  uriTooLong: kind(414, usage, "The address is too long"),
  unsupportedMediaType: kind(415, usage, "The body must be application/json"),
  headersTooLarge: kind(431, usage, "The headers are too large"),
  requestTimeout: passing(408, "The request took too long to arrive"),
  tooManyStreams: passing(429, "Too many streams are open"),
  tooManyTrials: passing(429, "Too many trials of endpoints are running"),
  tooManyReplays: passing(429, "Too many replays are running"),
  overloaded: passing(503, "The control plane is overloaded"),
  tookTooLong: passing(503, "The answer took too long"),
  closing: passing(503, "The control plane is shutting down"),
  journalFailed: kind(503, failed, "The journal failed; whether the request took effect is not known"),
  unavailable: passing(503, "A component that the answer needs is not available"),
  internal: kind(500, failed, "The control plane has a bug"),

  // Problems that only a client reports.
  unreachable: passing(503, "The control plane cannot be reached"),
  unexpectedAnswer: kind(502, failed, "The answer does not come from Headroom"),
  notSupported: kind(501, failed, "This control plane cannot do that"),
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof problemKinds;

export function isProblemCode(text: string): text is ProblemCode {
  return Object.hasOwn(problemKinds, text);
}

export const problemError = z
  .object({
    pointer: z
      .string()
      .meta({ description: 'JSON pointer into the body (RFC 6901), or "?name" for a query parameter.' }),
    message: z.string(),
  })
  .meta({ id: "ProblemError" });

/** A problem document of RFC 9457. `facts` has the numbers and names in the detail, for programs. */
export const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.string(),
    detail: z.string(),
    errors: z.array(problemError).optional(),
    facts: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: "Problem", description: "RFC 9457 problem details." });

export type ProblemPlace = z.output<typeof problemError>;
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ProblemCode;
  /** The reason and the remedy, in one or two sentences. */
  readonly detail: string;
  readonly errors?: readonly ProblemPlace[];
  readonly facts?: Readonly<Record<string, unknown>>;
}

export interface ProblemExtras {
  readonly errors?: readonly ProblemPlace[];
  readonly facts?: Readonly<Record<string, unknown>>;
}

export function problemOf(code: ProblemCode, detail: string, extras: ProblemExtras = {}): Problem {
  const { status, title } = problemKinds[code];
  return { type: `urn:headroom:problem:${code}`, title, status, code, detail, ...extras };
}

/** A refused request as an error. Both transports of the client and the server throw it. */
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly problem: Problem;

  constructor(subject: Problem) {
    super(subject.detail);
    this.problem = subject;
  }

  get code(): ProblemCode {
    return this.problem.code;
  }

  get exitCode(): ExitCode {
    return problemKinds[this.problem.code].exitCode;
  }
}

export function refuse(code: ProblemCode, detail: string, extras: ProblemExtras = {}): ProblemError {
  return new ProblemError(problemOf(code, detail, extras));
}
