/** `HeadroomClient` for the demo: the same views over the same engine as in the server. */
import { nodeId, poolName, siteName, teamName, workloadId } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import { planApply } from "@headroom/explain";
import { answerSizing } from "@headroom/perf";
import * as catalogue from "@headroom/perf/accelerator-types";
import {
  ProblemError,
  applyRequest,
  noticeRequest,
  policyChoice,
  refuse,
  sizingQuestion,
  submittedSpec,
  workloadChanges,
} from "@headroom/protocol";
import type {
  Abort,
  ApplyRequest,
  HeadroomClient,
  StartEstimate,
  WorkloadSpec,
  WorkloadSpecInput,
} from "@headroom/protocol";
import { estimateStarts, usualEstimateOptions } from "@headroom/sim";
import * as views from "@headroom/views";
import { accepted } from "../workers/accepted.ts";
import { answerDrill, answerWhatIf } from "../workers/answer-what-if.ts";
import type { DemoEstimates } from "./demo-estimates.ts";
import { YOU, type DemoWorld } from "./demo-world.ts";
import { artifactCommands, artifactReading } from "./artifact-client.ts";
import { demoOffers } from "./demo-offers.ts";
import { demoPlan } from "./plan/demo-plan.ts";
import { liveOnly } from "./live-only.ts";
import { executorClient } from "./executor-client.ts";
import { storeClient } from "./store-client.ts";
import { tokenClient } from "./token-client.ts";
import { incidentCommands, incidentReading } from "./incident-client.ts";
import { qualificationClient } from "./qualification-client.ts";
import { orderCommands, orderReading } from "./order-client.ts";
import { pipelineCommands, pipelineReading } from "./pipeline-client.ts";
import { proposalCommands, proposalReading } from "./proposal-client.ts";

const fleetReading = (world: DemoWorld) => {
  const series: HeadroomClient["series"] = async (query) => world.subjects.view(query);
  const costs: HeadroomClient["costs"] = async (query = {}) => world.costs.answer(query, world.nowMs);
  const offers: HeadroomClient["offers"] = async (query = {}) => demoOffers(query, world.nowMs);
  const forecastDrill: HeadroomClient["forecastDrill"] = async (request) => {
    const { engine, nowMs } = world;
    return answerDrill({ engine, sequence: engine.state.sequence, nowMs }, request);
  };
  const causeHours: HeadroomClient["causeHours"] = async (query = {}) => world.costs.hours(query, world.nowMs);
  return { ...orderReading(world), ...incidentReading(world), series, costs, causeHours, offers, forecastDrill };
};

function checkLevels({ state }: Engine, specs: readonly views.NamedSpec[], declared?: ApplyRequest): void {
  const refusal = views.levelRefusal(state, specs, declared);
  if (refusal !== null) throw refusal;
}

function acceptedSpec(engine: Engine, input: WorkloadSpecInput): WorkloadSpec {
  const spec = accepted(submittedSpec.safeParse(input));
  checkLevels(engine, [{ pointer: "", spec }]);
  return views.withTypesOfFleet(engine.state, spec, catalogue);
}

function acceptedRequest(engine: Engine, input: unknown): ApplyRequest {
  const request = accepted(applyRequest.safeParse(input));
  checkLevels(engine, views.specsToApply(request), request);
  return views.documentsWithTypesOfFleet(engine.state, request, catalogue);
}

function found<T>(resource: T | null, missing: () => ProblemError): T {
  if (resource === null) throw missing();
  return resource;
}

const unknownWorkload = (id: string) => (): ProblemError =>
  refuse("unknownWorkload", `There is no workload ${id}. It may have ended long ago.`);
const unknownNode = (id: string) => (): ProblemError => refuse("unknownNode", `There is no node ${id}.`);

function stoppedBy(signal: Abort | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) resolve();
    else signal?.addEventListener("abort", () => resolve());
  });
}

/**
 * `engine`: the engine of the simulated world, or a fork of it. Ended work comes from the world, because a fork does
 * not contain it.
 */
function estimates(world: DemoWorld, engine: Engine = world.engine): readonly views.EstimatedStart[] {
  const { nowMs } = world;
  const past = world.engine.state;
  const found = estimateStarts(engine, { ...usualEstimateOptions, nowMs, calibration: null, past });
  return found.map((each) => ({ ...each, atMs: nowMs }));
}

/** Estimates can be seconds old: workloads that have started or ended since then have no estimate. */
async function waitingStarts(
  { engine }: DemoWorld,
  estimated: DemoEstimates,
): Promise<readonly views.EstimatedStart[]> {
  const { workloads } = engine.state;
  const starts = await estimated();
  return starts.filter(({ workloadId: id }) => {
    const workload = workloads.get(workloadId(id));
    return workload !== undefined && (workload.phase === "pending" || workload.spec.kind === "batch");
  });
}

async function estimateOf(world: DemoWorld, estimated: DemoEstimates, id: string): Promise<StartEstimate> {
  const { engine } = world;
  found(engine.state.workloads.get(workloadId(id)) ?? null, unknownWorkload(id));
  const estimate = (await waitingStarts(world, estimated)).find((each) => each.workloadId === id);
  if (estimate === undefined) throw refuse("notWaiting", `${id} does not wait to start.`);
  return views.estimateView(engine, estimate);
}

/** The demo has no server and no journal. */
const demoStatus = { version: "demo", mode: "simulated", paused: null, journal: null } as const;

function reading(world: DemoWorld, startedAtMs: number, estimated: DemoEstimates) {
  const { engine, telemetry } = world;
  const { state } = engine;
  // The simulated clock: `state.nowMs` is the time of the last event, and the engine's time never goes back.
  const moment = () => ({ sequence: state.sequence, nowMs: world.nowMs });
  const listings = new views.StartListings();
  return {
    listWorkloads: async (query = {}) => views.workloadList(engine, query, { reports: telemetry.newest }),
    getWorkload: async (id) => found(views.workloadView(state, id, telemetry.newest), unknownWorkload(id)),
    metrics: async (id, query = {}) => {
      found(views.workloadView(state, id), unknownWorkload(id));
      return telemetry.read(id, query);
    },
    explainWorkload: async (id) => found(views.verdictView(engine, id), unknownWorkload(id)),
    startingChanges: async (id) => found(views.startingChangesView(engine, id), unknownWorkload(id)),
    estimateStart: async (id) => estimateOf(world, estimated, id),
    expectedStarts: async (query = {}) => {
      const { cursor, limit } = query;
      if (typeof cursor !== "string") {
        const starts = await waitingStarts(world, estimated);
        return listings.begin(engine, () => starts, query);
      }
      return found(listings.goOn(cursor, limit), () => views.refusedCursor(cursor));
    },
    forecastWorkload: async (spec) => {
      const answer = views.forecastView(
        engine,
        { spec: views.engineSpec(acceptedSpec(engine, spec)), actor: YOU },
        (fork) => estimates(world, fork),
      );
      if (answer.kind === "refused") throw new ProblemError(views.rejectionProblem(answer.rejection));
      return answer.forecast;
    },
    whatIf: async (question) => answerWhatIf({ engine, ...moment() }, question),
    snapshot: async () => ({ bytes: engine.snapshot(), ...moment() }),
    workloadHistory: async (id, query = {}) => {
      const { submittedAtMs, attempts } = found(views.workloadView(state, id), unknownWorkload(id));
      const past = { workloadId: id, submittedAtMs, attempts, head: world.log.lastSequence, attemptId: query.attempt };
      const events = ({ from }: { readonly from?: number | "next" | undefined } = {}) =>
        world.log.read(Number(from), stoppedBy(undefined));
      return views.readHistory({ events }, past);
    },
    queue: async (page = {}) => views.queueView(engine, page),
    waste: async (query = {}) =>
      views.wasteView(engine, query.workload ?? null, { telemetryOf: telemetry.newest.telemetryOf }),
    defragmentation: async () => views.defragmentationView(engine),
    capacityHistory: async () => world.capacity.history,
    fleet: async () => views.fleetView(engine),
    listNodes: async (page = {}) => views.nodeList(engine, page),
    ...fleetReading(world),
    ...proposalReading(world),
    ...pipelineReading(world),
    ...artifactReading(world),
    getNode: async (id) => found(views.nodeView(engine, id), unknownNode(id)),
    acceleratorReadings: async (page = {}) => world.readings().page(engine, page),
    nodeTelemetry: async (id, query = {}) => {
      found(views.nodeView(engine, id), unknownNode(id));
      return world.nodeTelemetry(id, query);
    },
    teams: async (page = {}) => views.teamList(engine, page),
    schedules: async () => views.scheduleList(engine),
    calendar: async () => views.calendarList(engine),
    policy: async () => views.policyView(engine),
    presets: async () => views.presetsView(),
    size: async (question) => answerSizing(accepted(sizingQuestion.safeParse(question))),
    plan: async () => demoPlan(startedAtMs),
    events: ({ from = 1, signal } = {}) =>
      world.log.read(from === "next" ? world.log.lastSequence + 1 : from, stoppedBy(signal)),
    status: async () => views.statusView(engine, { ...demoStatus, hasGateway: false, isolation: [], startedAtMs }),
  } satisfies Partial<HeadroomClient>;
}

type Removals = "removeNode" | "removePool" | "removeSite";
type NodeCommands = "drainNode" | "resumeNode" | "noticeNode" | "withdrawNotice" | Removals;

const modeOf = (options?: { readonly force?: boolean | undefined }): "refuse" | "requeue" =>
  options?.force === true ? "requeue" : "refuse";

const countIn = (result: object, field: string): number => {
  const count = (result as Readonly<Record<string, unknown>>)[field];
  return typeof count === "number" ? count : 0;
};
const workloadsIn = (result: object): number => countIn(result, "workloads");

const nodeCommands = (run: DemoWorld["command"]): Pick<HeadroomClient, NodeCommands> => ({
  drainNode: async (id, { running = "wait" }) => {
    run({ kind: "drainNode", nodeId: nodeId(id), running });
    return { nodeId: id };
  },
  resumeNode: async (id) => {
    run({ kind: "resumeNode", nodeId: nodeId(id) });
    return { nodeId: id };
  },
  removeNode: async (id, options) => {
    const result = run({ kind: "removeNode", nodeId: nodeId(id), running: modeOf(options) });
    return { nodeId: id, workloads: workloadsIn(result) };
  },
  removePool: async (name, options) => {
    const result = run({ kind: "removePool", pool: poolName(name), running: modeOf(options) });
    return { pool: name, nodes: countIn(result, "nodes"), workloads: workloadsIn(result) };
  },
  removeSite: async (name, options) => {
    const result = run({ kind: "removeSite", site: siteName(name), running: modeOf(options) });
    return {
      site: name,
      pools: countIn(result, "pools"),
      nodes: countIn(result, "nodes"),
      workloads: workloadsIn(result),
    };
  },
  noticeNode: async (id, request) => {
    const { goneAtMs: atMs, inMs, reason } = accepted(noticeRequest.safeParse(request));
    const gone = atMs === undefined ? { inMs: inMs ?? 0 } : { atMs };
    const result = run({ kind: "noticeNode", nodeId: nodeId(id), gone, reason });
    return { nodeId: id, goneAtMs: "goneAtMs" in result ? result.goneAtMs : 0 };
  },
  withdrawNotice: async (id) => {
    run({ kind: "withdrawNotice", nodeId: nodeId(id) });
    return { nodeId: id };
  },
});

function applying(world: DemoWorld, run: DemoWorld["command"]): HeadroomClient["apply"] {
  return async (request, options) => {
    const declared = acceptedRequest(world.engine, request);
    const odd = views.applyWarnings(world.engine.state, declared, world.nowMs);
    const warned = odd.length === 0 ? {} : { warnings: odd };
    const documents = views.engineDocuments(declared);
    const submissions = documents.workloads.map((spec) => ({ spec, actor: YOU }));
    const notices = views.noticesInOrder(world.engine, submissions);
    if (options?.dryRun !== true) {
      const result = run({ kind: "apply", ...documents });
      return {
        dryRun: false,
        changes: views.changesWithNotices("changes" in result ? result.changes : [], notices),
        ...warned,
      };
    }
    if (options.forecast === true) {
      const answer = views.applyForecastView(world.engine, { documents, actor: YOU }, (fork) => estimates(world, fork));
      if (answer.kind === "refused") throw new ProblemError(views.rejectionProblem(answer.rejection));
      return { ...answer.plan, changes: views.changesWithNotices(answer.plan.changes, notices), ...warned };
    }
    const forecast = planApply(world.engine, documents);
    if (forecast.kind === "refused") throw new ProblemError(views.rejectionProblem(forecast.rejection));
    return { dryRun: true, changes: views.changesWithNotices(forecast.changes, notices), ...warned };
  };
}

/** Changes of a workload in place, as in the server. */
function changing(world: DemoWorld, run: DemoWorld["command"]): HeadroomClient["changeWorkload"] {
  return async (id, body, options) => {
    const { engine } = world;
    const known = engine.state.workloads.get(workloadId(id));
    if (known === undefined) throw refuse("unknownWorkload", `There is no workload ${id}.`);
    const before = { ...known };
    const changes = views.engineChanges(before, accepted(workloadChanges.safeParse(body)));
    const refusal = views.changesRefusal(before, changes);
    if (refusal !== null) throw refusal;
    const shown = views.fieldChanges(before, changes);
    if (options?.dryRun !== true) {
      run({ kind: "changeWorkload", workloadId: before.id, changes });
      return { workloadId: id, dryRun: false, changes: shown };
    }
    const asked = { id: before.id, changes, actor: YOU };
    const answer = views.changeForecastView(engine, asked, (fork) => estimates(world, fork));
    if (answer.kind === "refused") throw new ProblemError(views.rejectionProblem(answer.rejection));
    return { workloadId: id, dryRun: true, changes: shown, start: answer.start };
  };
}

/** Steps of a user on a rollout, as in the server. */
const steering =
  (run: DemoWorld["command"]): HeadroomClient["steerRollout"] =>
  async (id, { action }) => {
    const ground = { kind: "requested" } as const;
    const result = run({ kind: "steerRollout", workloadId: workloadId(id), number: null, step: null, action, ground });
    return { workloadId: id, changed: "fields" in result && result.fields.length > 0 };
  };

/** Events of a command are sent at once, so that the page gets them before the next tick. */
function commanding(world: DemoWorld) {
  const run: DemoWorld["command"] = (command) => {
    const result = world.command(command);
    world.log.announce();
    return result;
  };
  return {
    submitWorkload: async (spec) => {
      const accepted = views.engineSpec(acceptedSpec(world.engine, spec));
      const notices = views.submissionNotices(world.engine, { spec: accepted, actor: YOU });
      const result = run({ kind: "submitWorkload", spec: accepted });
      return { workloadId: "workloadId" in result ? result.workloadId : "", ...views.withNotices(notices) };
    },
    changeWorkload: changing(world, run),
    stopWorkload: async (id, { task } = {}) => {
      run(
        task === undefined
          ? { kind: "stopWorkload", workloadId: workloadId(id) }
          : { kind: "stopTask", workloadId: workloadId(id), task },
      );
      return { workloadId: id };
    },
    holdWorkload: async (id) => {
      run({ kind: "holdWorkload", workloadId: workloadId(id) });
      return { workloadId: id };
    },
    releaseWorkload: async (id) => {
      run({ kind: "releaseWorkload", workloadId: workloadId(id) });
      return { workloadId: id };
    },
    rerunWorkload: async (id) => {
      run({ kind: "rerunWorkload", workloadId: workloadId(id) });
      return { workloadId: id };
    },
    steerRollout: steering(run),
    apply: applying(world, run),
    removeSchedule: async (name) => {
      run({ kind: "removeSchedule", name });
      return { name };
    },
    removeCalendarEntry: async (name) => {
      run({ kind: "removeCalendarEntry", name });
      return { name };
    },
    ...orderCommands(world.engine, run),
    ...incidentCommands(world, run),
    ...qualificationClient(world, run),
    ...proposalCommands(world, run),
    ...pipelineCommands(world, run),
    ...artifactCommands(world, run),
    ...executorClient(world.engine),
    ...storeClient,
    ...tokenClient(world),
    ...nodeCommands(run),
    removeTeam: async (name) => {
      run({ kind: "removeTeam", team: teamName(name) });
      return { team: name };
    },
    setPolicy: async (choice) => {
      const policy = views.chosenPolicy(accepted(policyChoice.safeParse(choice)));
      if (policy === null) throw views.noPreset();
      const odd = views.policyWarnings(world.engine.state, policy);
      run({ kind: "setPolicy", policy });
      return { name: policy.name, ...(odd.length === 0 ? {} : { warnings: odd }) };
    },
  } satisfies Partial<HeadroomClient>;
}

/**
 * `estimated` computes start estimates. By default they are computed in the page's main thread, which blocks it for
 * seconds.
 */
export function createDemoClient(
  world: DemoWorld,
  startedAtMs: number,
  estimated: DemoEstimates = async () => estimates(world),
): HeadroomClient {
  return { ...liveOnly(), ...reading(world, startedAtMs, estimated), ...commanding(world) };
}
