/**
 * One handler for each operation of the protocol. Commands go through the driver's inbox; reads see only durable state.
 */
import { planApply } from "@headroom/explain";
import type { TeamName, WorkloadId } from "@headroom/model";
import * as catalogue from "@headroom/perf/accelerator-types";
import { ProblemError, refuse } from "@headroom/protocol";
import { isolationNotices } from "./isolation.ts";
import type { WorkloadSpec } from "@headroom/protocol";
import {
  applyWarnings,
  calendarList,
  changesWithNotices,
  chosenPolicy,
  documentsWithTypesOfFleet,
  engineDocuments,
  engineSpec,
  eventEnvelope,
  fleetView,
  isListingCursor,
  levelRefusal,
  checkAdviceQuery,
  noticesInOrder,
  endpointListView,
  orderList,
  orderView,
  noPreset,
  policyView,
  proposalList,
  proposalRuleViews,
  presetsView,
  queueView,
  readHistory,
  readableHistory,
  policyWarnings,
  refusedCursor,
  rejectionProblem,
  scheduleList,
  specsToApply,
  submissionNotices,
  teamList,
  triedChange,
  verdictView,
  wasteView,
  whatIfChange,
  withNotices,
  withTypesOfFleet,
  workloadList,
  workloadView,
} from "@headroom/views";
import type { NamedSpec } from "@headroom/views";
import { readsAllTeams } from "../auth/authorize.ts";
import { readableTeams } from "../auth/team-tree.ts";
import { notRecordedYet, readableEnvelopes, readableEvents } from "./readable-events.ts";
import { checkSuites } from "./check-suites.ts";
import { command, found } from "./calls.ts";
import type { Answer, Call, Handlers, StreamHandlers } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";
import { framed } from "./stream-reply.ts";
import { nodeHandlers } from "./nodes.ts";
import { seriesOf } from "./series.ts";
import { refuseUnknownExecutors } from "./unknown-executors.ts";
import { directoryRefusal } from "./hidden-directories.ts";
import { channelRefusal } from "./notification-channels.ts";
import {
  artifactLineage,
  changeArtifact,
  setArtifactGate,
  getArtifact,
  getArtifactVersion,
  listArtifactVersions,
  listArtifacts,
  registerArtifact,
} from "./artifacts.ts";
import { advanceCapacityOrder, cancelCapacityOrder, createCapacityOrder } from "./capacity-orders.ts";
import { changeWorkload as changeWorkloadHandler } from "./change-workload.ts";
import { tryEndpoint } from "./endpoint-trial.ts";
import { withStaging } from "./attempt-staging.ts";
import { metricSourceHandlers } from "./metric-sources.ts";
import { declareStore, removeStore, storeCaches, storeRefusal, stores } from "./stores.ts";
import { abandonExecutor, declareExecutor, executors, removeExecutor } from "./executors.ts";
import { importedHistory, importHistory } from "./imported-histories.ts";
import {
  createProposal,
  decideProposal,
  getProposal,
  setProposalRule,
  simulateProposal,
  withdrawProposal,
} from "./proposals.ts";
import { pipelineHandlers } from "./pipelines.ts";
import { remediationHandlers } from "./remediations.ts";
import { cancelDrill, forecastDrill, getDrill, listDrills, startDrill } from "./drills.ts";
import {
  annotateIncident,
  comparePeers,
  fleetHealth,
  linkMap,
  getIncident,
  listFindings,
  listIncidents,
  reportFaults,
} from "./incidents.ts";
import { planeStatus } from "./plane-status.ts";
import { removePool, removeSite } from "./remove-fleet.ts";
import { noWorkload } from "./resource-access.ts";
import { startExec } from "./start-exec.ts";
import { createToken, followTokens, identityOf, listTokens, revokeToken, revokeWithoutTeam } from "./tokens.ts";
import { openLogs, searchLogs } from "./workload-logs.ts";
import { performanceOf } from "./workload-performance.ts";
import { workloadMetrics } from "./workload-metrics.ts";
import { workloadUsage } from "./workload-usage.ts";

const noCapacityOrder = (name: string): ProblemError =>
  refuse("unknownCapacityOrder", `There is no capacity order ${name}.`);

/** Turns the refusal "no such team" into 404 if the team is the resource of the request. */
function aboutTeam(error: unknown): unknown {
  if (!(error instanceof ProblemError) || error.code !== "unknownTeam") return error;
  return refuse("unknownTeamName", error.problem.detail);
}

async function checkLevels(
  { driver, notificationChannels, executors, storeService }: ControlPlane,
  specs: readonly NamedSpec[],
  declared: Partial<Pick<Call<"apply">["body"], "sites" | "teams">> = {},
): Promise<void> {
  const refusal =
    channelRefusal(notificationChannels, specs) ??
    directoryRefusal(executors.values(), specs) ??
    storeRefusal(storeService.list(), specs) ??
    (await driver.read(({ state }) => levelRefusal(state, specs, declared)));
  if (refusal !== null) throw refusal;
}

/** Checks a submission. Returns its spec with accelerator types named as in the fleet. */
async function accepted(plane: ControlPlane, spec: WorkloadSpec): Promise<WorkloadSpec> {
  await checkLevels(plane, [{ pointer: "", spec }]);
  return plane.driver.read(({ state }) => withTypesOfFleet(state, spec, catalogue));
}

export const handlers: Handlers = {
  listWorkloads: ({ driver, telemetry }, { query, principal }) =>
    driver.read((engine) =>
      workloadList(engine, query, { reports: telemetry.newest, readable: readableTeams(engine.state, principal) }),
    ),
  submitWorkload: async (plane, call) => {
    const spec = engineSpec(await accepted(plane, call.body));
    // The usage is read before the submission is recorded, because the team's usage can include the new work
    // afterwards.
    const notices = await plane.driver.read((engine) => submissionNotices(engine, { spec, actor: call.actor }));
    const { workloadId } = await command(plane, call, { kind: "submitWorkload", spec }, "workloadSubmitted");
    return { workloadId, ...withNotices([...notices, ...isolationNotices(plane.executors.values(), spec)]) };
  },
  getWorkload: async (plane, { params: { id } }) =>
    withStaging(
      plane,
      await found(plane, ({ state }) => workloadView(state, id, plane.telemetry.newest), noWorkload(id)),
    ),
  changeWorkload: changeWorkloadHandler,
  stopWorkload: async (plane, call) => {
    const { task } = call.query;
    if (task !== undefined) {
      const wanted = { kind: "stopTask", workloadId: call.params.id as WorkloadId, task } as const;
      return { workloadId: (await command(plane, call, wanted, "taskStopping")).workloadId };
    }
    const wanted = { kind: "stopWorkload", workloadId: call.params.id as WorkloadId } as const;
    const { workloadId } = await command(plane, call, wanted, "workloadStopping");
    return { workloadId };
  },
  holdWorkload: async (plane, call) => {
    const wanted = { kind: "holdWorkload", workloadId: call.params.id as WorkloadId } as const;
    const { workloadId } = await command(plane, call, wanted, "workloadHeld");
    return { workloadId };
  },
  releaseWorkload: async (plane, call) => {
    const wanted = { kind: "releaseWorkload", workloadId: call.params.id as WorkloadId } as const;
    const { workloadId } = await command(plane, call, wanted, "workloadReleased");
    return { workloadId };
  },
  rerunWorkload: async (plane, call) => {
    const wanted = { kind: "rerunWorkload", workloadId: call.params.id as WorkloadId } as const;
    const { workloadId } = await command(plane, call, wanted, "workloadRerun");
    return { workloadId };
  },
  explainWorkload: (plane, { params: { id } }) => found(plane, (engine) => verdictView(engine, id), noWorkload(id)),
  startingChanges: async (plane, { params: { id }, actor }, gone) => {
    // For ended work the answer is immediate. Only waiting work needs the thread pool.
    const { endedAtMs } = await found(
      plane,
      ({ state }) => state.workloads.get(id as WorkloadId) ?? null,
      noWorkload(id),
    );
    if (endedAtMs !== null) return { items: [] };
    const answer = await plane.forecast.ask({ kind: "changes", id }, actor, gone());
    if (answer === null) throw noWorkload(id);
    return answer;
  },
  estimateStart: async (plane, { params: { id }, actor }, gone) => {
    const { endedAtMs } = await found(
      plane,
      ({ state }) => state.workloads.get(id as WorkloadId) ?? null,
      noWorkload(id),
    );
    if (endedAtMs !== null) throw refuse("notWaiting", `${id} has ended.`);
    const answer = await plane.forecast.ask({ kind: "estimate", id }, actor, gone());
    if (answer === null) throw refuse("notWaiting", `${id} does not wait for its start.`);
    return answer;
  },
  expectedStarts: async ({ forecast, driver }, { query, actor, principal }, gone) => {
    if (query.cursor !== undefined && !isListingCursor(query.cursor)) throw refusedCursor(query.cursor);
    const readable = await driver.read(({ state }) => readableTeams(state, principal));
    const answer = await forecast.ask({ kind: "estimates", query, readable }, actor, gone());
    if (answer === null) throw refusedCursor(query.cursor ?? "");
    return answer;
  },
  forecastWorkload: async (plane, { body, actor }, gone) => {
    const spec = await accepted(plane, body);
    const answer = await plane.forecast.ask({ kind: "forecast", spec: engineSpec(spec), actor }, actor, gone());
    if (answer.kind === "refused") throw new ProblemError(rejectionProblem(answer.rejection));
    return answer.forecast;
  },
  whatIf: ({ forecast }, { body, actor }, gone) =>
    forecast.whatIf(
      (engine) => ({
        kind: "whatIf",
        change: whatIfChange(engine, body, catalogue),
        horizonMs: body.horizonMs,
        arrivals: body.arrivals,
      }),
      actor,
      gone(),
    ),
  waste: ({ driver, telemetry: { newest } }, { query, principal }) =>
    driver.read((engine) => {
      const readable = readableTeams(engine.state, principal);
      return wasteView(engine, query.workload ?? null, { telemetryOf: newest.telemetryOf, readable });
    }),
  gateway: ({ gateway }) => gateway.read(),
  defragmentation: ({ forecast }, { actor }, gone) => forecast.ask({ kind: "defragmentation" }, actor, gone()),
  snapshot: async ({ driver, nowMs }, { query: { maxBytes } }) => {
    const taken = await driver.read((engine) => ({ bytes: engine.snapshot(), sequence: engine.state.sequence }));
    const { length } = taken.bytes;
    if (maxBytes !== undefined && length > maxBytes)
      throw refuse("snapshotTooLarge", `The state has ${length} bytes, more than the requested limit of ${maxBytes}.`, {
        facts: { bytes: length, maxBytes },
      });
    return { ...taken, nowMs: nowMs() };
  },
  startReplay: async ({ driver, replays, nowMs }, { body }) => {
    const change = await driver.read((engine) => triedChange(engine, body, catalogue));
    return { id: replays.start({ change, periodMs: body.periodMs, nowMs: nowMs() }) };
  },
  replay: ({ replays }, { params: { id } }) => replays.read(id),
  cancelReplay: async ({ replays }, { params: { id } }) => {
    await replays.cancel(id);
    return { id };
  },
  workloadHistory: async (plane, { params: { id }, query, principal }) => {
    const { workload, head } = await found(
      plane,
      ({ state }) => {
        const known = workloadView(state, id);
        return known === null ? null : { workload: known, head: state.sequence };
      },
      noWorkload(id),
    );
    const { submittedAtMs, attempts } = workload;
    const past = { workloadId: id, submittedAtMs, attempts, head, attemptId: query.attempt };
    const { signal } = new AbortController();
    const events = ({ from }: { readonly from?: number | "next" | undefined } = {}): AsyncIterable<Answer<"events">> =>
      envelopes(readableEvents(plane, principal, plane.driver.events(Number(from), signal)));
    // Attempt ids contain the workload's id, so the text of the workload's id occurs in all its events.
    const mentions = ({ from = 1 }: { readonly from?: number | undefined } = {}): AsyncIterable<Answer<"events">> =>
      envelopes(readableEvents(plane, principal, plane.driver.mentions(from, `"${id}`)));
    return readHistory({ events, mentions }, past);
  },
  usage: (plane, { params: { id } }) => workloadUsage(plane, id),
  startExec,
  execInput: async ({ execs }, { params: { id }, body, actor }) => {
    await execs.input(id, actor, body);
    return { id };
  },
  endExec: ({ execs }, { params: { id }, actor }) => {
    execs.end(id, actor);
    return { id };
  },
  metrics: (plane, { params: { id }, query }) => workloadMetrics(plane, id, query),
  queue: ({ driver }, { query, principal }) =>
    driver.read((engine) => queueView(engine, query, readableTeams(engine.state, principal))),
  apply: async (plane, call, gone) => {
    refuseUnknownExecutors(plane, call.body.pools);
    await checkLevels(plane, specsToApply(call.body), call.body);
    const request = await plane.driver.read(({ state }) => documentsWithTypesOfFleet(state, call.body, catalogue));
    const odd = await plane.driver.read(({ state }) => applyWarnings(state, request, plane.nowMs()));
    const warned = odd.length === 0 ? {} : { warnings: odd };
    const documents = engineDocuments(request);
    await checkSuites(plane, documents.pools);
    const submissions = documents.workloads.map((spec) => ({ spec, actor: call.actor }));
    const read = await plane.driver.read((engine) => noticesInOrder(engine, submissions));
    const notices = read.map((own, index) => {
      const spec = documents.workloads[index];
      return spec === undefined ? own : [...own, ...isolationNotices(plane.executors.values(), spec)];
    });
    if (call.query.dryRun === true && call.query.forecast === true) {
      const answer = await plane.forecast.ask({ kind: "apply", documents, actor: call.actor }, call.actor, gone());
      if (answer.kind === "refused") throw new ProblemError(rejectionProblem(answer.rejection));
      return { ...answer.plan, changes: changesWithNotices(answer.plan.changes, notices), ...warned };
    }
    if (call.query.dryRun === true) {
      const forecast = await plane.driver.read((engine) => planApply(engine, documents));
      if (forecast.kind === "refused") throw new ProblemError(rejectionProblem(forecast.rejection));
      return { dryRun: true, changes: changesWithNotices(forecast.changes, notices), ...warned };
    }
    const { changes } = await command(plane, call, { kind: "apply", ...documents }, "applied");
    return { dryRun: false, changes: changesWithNotices(changes, notices), ...warned };
  },
  capacityHistory: ({ capacity, driver }, { principal }) =>
    driver.read(({ state }) => readableHistory(capacity.history, readableTeams(state, principal))),
  fleet: ({ driver }) => driver.read(fleetView),
  series: (plane, { query, principal }) => seriesOf(plane, query, principal),
  endpoints: ({ driver, autoscaler: readings, nowMs }, { principal }) =>
    driver.read((engine) =>
      endpointListView(engine, { nowMs: nowMs(), readable: readableTeams(engine.state, principal), readings }),
    ),
  reportLoad: async ({ autoscaler }, { params: { id }, body }) => {
    const wanted = await autoscaler.report(id, body);
    if (wanted === null) throw noWorkload(id);
    return { workloadId: id, wanted };
  },
  tryEndpoint,
  steerRollout: async (plane, call) => {
    const { id } = call.params;
    const steered = {
      kind: "steerRollout",
      workloadId: id as WorkloadId,
      number: null,
      step: null,
      action: call.body.action,
      ground: { kind: "requested" },
    } as const;
    const { fields } = await command(plane, call, steered, "workloadChanged");
    return { workloadId: id, changed: fields.length > 0 };
  },
  listCapacityOrders: ({ driver, nowMs }, { query }) => driver.read((engine) => orderList(engine, query, nowMs())),
  adviseOrders: async ({ driver, forecast }, { query, actor }, gone) => {
    await driver.read((engine) => checkAdviceQuery(engine, query));
    return await forecast.ask({ kind: "orderAdvice", query }, actor, gone());
  },
  getCapacityOrder: (plane, { params: { name } }) =>
    found(plane, (engine) => orderView(engine, name, plane.nowMs()), noCapacityOrder(name)),
  ...remediationHandlers,
  forecastDrill,
  startDrill,
  listDrills,
  getDrill,
  cancelDrill,
  listIncidents,
  getIncident,
  annotateIncident,
  fleetHealth,
  linkMap,
  comparePeers,
  listFindings,
  reportFaults,
  createCapacityOrder,
  advanceCapacityOrder,
  cancelCapacityOrder,
  listProposals: ({ driver }, { query, principal }) =>
    driver.read((engine) => proposalList(engine, query, readableTeams(engine.state, principal))),
  getProposal,
  createProposal,
  simulateProposal,
  decideProposal,
  withdrawProposal,
  proposalRules: ({ driver }) => driver.read(({ state }) => ({ items: proposalRuleViews(state) })),
  setProposalRule,
  ...pipelineHandlers,
  listArtifacts,
  registerArtifact,
  getArtifact,
  listArtifactVersions,
  getArtifactVersion,
  artifactLineage,
  changeArtifact,
  setArtifactGate,
  executors,
  declareExecutor,
  abandonExecutor,
  importedHistory,
  importHistory,
  removeExecutor,
  ...metricSourceHandlers,
  stores,
  storeCaches,
  declareStore,
  removeStore,
  ...nodeHandlers,
  removePool,
  removeSite,
  teams: ({ driver }, { query, principal }) =>
    driver.read((engine) => teamList(engine, query, readableTeams(engine.state, principal))),
  removeTeam: async (plane, call) => {
    const wanted = { kind: "removeTeam", team: call.params.name as TeamName } as const;
    try {
      const { team } = await command(plane, call, wanted, "teamRemoved");
      await revokeWithoutTeam(plane);
      return { team };
    } catch (error) {
      throw aboutTeam(error);
    }
  },
  schedules: ({ driver }, { principal }) =>
    driver.read((engine) => scheduleList(engine, readableTeams(engine.state, principal))),
  removeSchedule: async (plane, call) => {
    const { name } = await command(plane, call, { kind: "removeSchedule", name: call.params.name }, "scheduleRemoved");
    return { name };
  },
  calendar: ({ driver }, { principal }) =>
    driver.read((engine) => calendarList(engine, readableTeams(engine.state, principal))),
  removeCalendarEntry: async (plane, call) => {
    const wanted = { kind: "removeCalendarEntry", name: call.params.name } as const;
    const { name } = await command(plane, call, wanted, "calendarEntryRemoved");
    return { name };
  },
  policy: ({ driver }) => driver.read(policyView),
  setPolicy: async (plane, call) => {
    const policy = chosenPolicy(call.body);
    if (policy === null) throw noPreset();
    const odd = await plane.driver.read(({ state }) => policyWarnings(state, policy));
    const { name } = await command(plane, call, { kind: "setPolicy", policy }, "policySet");
    return { name, ...(odd.length === 0 ? {} : { warnings: odd }) };
  },
  presets: () => presetsView(),
  size: ({ sizing, measuredRuns }, { body }) => sizing.answer(measuredRuns.corrected(body)),
  costs: async ({ costs, driver }, { query, principal }, gone) =>
    costs.ask(query, await driver.read(({ state }) => readableTeams(state, principal)), gone()),
  causeHours: async ({ costs, driver }, { query, principal }, gone) =>
    costs.hours(query, await driver.read(({ state }) => readableTeams(state, principal)), gone()),
  offers: ({ offers }, { query }, gone) => offers.ask(query, gone()),
  plan: ({ plan }) => plan.stored,
  storePlan: ({ plan }, { query: { dryRun = false }, body, actor }, gone) =>
    plan.store(body, { actor, dryRun, gone: gone() }),
  declareModel: async ({ measuredRuns }, { params: { id }, body }) => {
    await measuredRuns.declare(id, body);
    return { workloadId: id };
  },
  predictions: async (plane, { params: { id } }) => {
    await found(plane, ({ state }) => state.workloads.get(id as WorkloadId) ?? null, noWorkload(id));
    return plane.measuredRuns.predictions(id);
  },
  workloadPerformance: (plane, { params: { id } }) => performanceOf(plane, id),
  fleetPredictions: ({ measuredRuns }) => measuredRuns.report(),
  status: planeStatus,
  searchLogs,
  listTokens,
  createToken,
  revokeToken,
  followTokens,
  listDenials: ({ denials }) => ({ items: denials.items }),
  identity: identityOf,
  createLoginLink: ({ gate, address }, { principal }) => {
    const { code, expiresAtMs } = gate.newLoginCode(principal);
    return { url: `${address()}/login?code=${code}`, expiresAtMs };
  },
};

export const streamHandlers: StreamHandlers = {
  events: async (plane, { query: { from }, principal }, { format, signal }) => {
    const { driver } = plane;
    const next = (await driver.read(({ state }) => state.sequence)) + 1;
    if (typeof from === "number" && from > next) throw notRecordedYet(from, next);
    const first = from === "next" ? next : (from ?? 1);
    return readsAllTeams(principal)
      ? driver.eventFrames(first, format, signal)
      : framed(readableEnvelopes(plane, principal, driver.events(first, signal)), format);
  },
  execOutput: async ({ execs }, { params: { id }, actor }, { format, signal }) =>
    framed(execs.output(id, actor, signal), format),
  logs: async (plane, { params: { id }, query }, { format, signal }) =>
    framed(await openLogs(plane, id, query, signal), format),
};

async function* envelopes(events: ReturnType<ControlPlane["driver"]["events"]>): AsyncGenerator<Answer<"events">> {
  for await (const { sequence, event } of events) yield eventEnvelope(sequence, event);
}
