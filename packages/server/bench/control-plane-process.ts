/**
 * The control plane under test in a separate process: the real driver, engine and API, over a real or a stubbed
 * journal.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import path from "node:path";
import { createEngine } from "@headroom/engine";
import { teamName } from "@headroom/model";
import type { ExecutorId, TeamName } from "@headroom/model";
import { waitingSummary } from "@headroom/explain";
import type { Executor } from "@headroom/executors";
import { sqliteAddress, sqliteJournal } from "@headroom/journal";
import { createApi } from "../src/api/app.ts";
import { AccessTokens } from "../src/auth/access-tokens.ts";
import { Denials } from "../src/auth/denials.ts";
import { Gate } from "../src/auth/gate.ts";
import { BatchDriver } from "../src/driver/batch-driver.ts";
import type { DriverLog } from "../src/driver/driver-log.ts";
import type { Driver } from "../src/driver/driver.ts";
import { openDriver } from "../src/driver/open-driver.ts";
import { snapshotDefaults } from "../src/driver/snapshot-schedule.ts";
import { SteadyClock, systemClock } from "../src/driver/steady-clock.ts";
import { inventoryDefaults } from "../src/executors/executor-contact.ts";
import { ExecutorService } from "../src/executors/executor-service.ts";
import { registerMachine } from "../src/machine-registration.ts";
import { ReplayService } from "../src/replay/replay-service.ts";
import { CapacityService } from "../src/capacity/capacity-service.ts";
import { ExecSessions } from "../src/exec/exec-sessions.ts";
import { LogSearchService } from "../src/log-search/log-search-service.ts";
import { MlflowService } from "../src/mlflow/mlflow-service.ts";
import { ForecastService } from "../src/forecast/forecast-service.ts";
import { MetricSourceService } from "../src/metric-sources/metric-source-service.ts";
import { MetricTriggers } from "../src/metric-sources/metric-triggers.ts";
import { ProvisionerService } from "../src/provisioners/provisioner-service.ts";
import { StoreService } from "../src/stores/store-service.ts";
import { QualificationService } from "../src/qualifications/qualification-service.ts";
import { RemediationService } from "../src/remediations/remediation-service.ts";
import { RemedyService } from "../src/remedies/remedy-service.ts";
import { SignalMemory } from "../src/executors/signal-memory.ts";
import { IncidentService } from "../src/incidents/incident-service.ts";
import { AutoscalerService } from "../src/endpoints/autoscaler-service.ts";
import { EndpointTrials } from "../src/gateway/endpoint-trials.ts";
import { GatewayReader } from "../src/gateway/gateway-reader.ts";
import { MeasuredRunService, measuredRunDefaults } from "../src/measured-runs/measured-run-service.ts";
import { DrillService } from "../src/drills/drill-service.ts";
import { CostService } from "../src/costs/cost-service.ts";
import { TriggerWatch } from "../src/plan/trigger-watch.ts";
import { OfferService } from "../src/offers/offer-service.ts";
import { PlanService } from "../src/plan/plan-service.ts";
import { SizingService } from "../src/sizing/sizing-service.ts";
import { AcceleratorSampler } from "../src/telemetry/accelerator-sampler.ts";
import { Telemetry, telemetryDefaults } from "../src/telemetry/telemetry.ts";
import { BusyExecutor } from "./busy-executor.ts";
import { tellParent } from "./messages.ts";
import type { ControlPlaneConfig, ControlPlaneFigures } from "./messages.ts";
import { StubbedJournal } from "./stubbed-journal.ts";

/** Sampling interval in ms of the event-loop monitor. The histograms of the loop's delay include this interval. */
const LOOP_SAMPLE_MS = 5;
const token = "benchmark-token-benchmark-token-benchmark";
const log: DriverLog = { info: () => undefined, warn: console.warn, error: console.error };
const onFatal = (error: Error): void => {
  console.error(error);
  process.exit(1);
};

const config = JSON.parse(process.argv[2] ?? "{}") as ControlPlaneConfig;
const executor = new BusyExecutor(config.fleet?.nodes, config.fleet?.runMinMs);
const telemetry = new Telemetry({
  file: path.join(config.home, "telemetry.db"),
  rules: telemetryDefaults,
  isExpected: false,
  log,
  nowMs: () => Date.now(),
});
const driver = await open(config);
await registerMachine(driver, [executor]);
await preload(driver, config);
const accelerators = new AcceleratorSampler({ driver, telemetry, executors: new Map(), log, nowMs: () => Date.now() });
const incidents = new IncidentService({
  home: config.home,
  driver,
  log,
  nowMs: () => Date.now(),
  announce: async () => {},
});
const tokens = new AccessTokens({ home: config.home, nowMs: () => Date.now() });
const gateway = new GatewayReader(null);
const forecast = new ForecastService({ driver, nowMs: () => Date.now() });
const remediations = new RemediationService({ home: config.home, driver, forecast, log, nowMs: () => Date.now() });
const plane = {
  driver,
  telemetry,
  executors: new Map<ExecutorId, Executor>([[executor.id, executor]]),
  executorService: new ExecutorService({
    home: config.home,
    types: [],
    own: [],
    rules: inventoryDefaults,
    log,
    retained: () => {
      throw new Error("no executor is declared");
    },
    nowMs: () => Date.now(),
  }),
  gate: new Gate({ token, hostNames: [], nowMs: () => Date.now() }),
  sizing: new SizingService(),
  costs: new CostService({ home: config.home, journal: sqliteAddress(config.home), nowMs: () => Date.now() }),
  offers: new OfferService({ home: config.home, nowMs: () => Date.now() }),
  plan: new PlanService({ home: config.home, log, nowMs: () => Date.now() }),
  measuredRuns: new MeasuredRunService({
    file: path.join(config.home, "measured-runs.db"),
    rules: measuredRunDefaults,
    driver,
    telemetry,
    log,
    nowMs: () => Date.now(),
    tellOwner: () => Promise.resolve(),
  }),
  accelerators,
  capacity: new CapacityService({
    home: config.home,
    driver,
    telemetry,
    readings: accelerators.readings,
    log,
    nowMs: () => Date.now(),
  }),
  triggers: new TriggerWatch({
    home: config.home,
    log,
    nowMs: () => Date.now(),
    history: () => ({ everyMs: 60_000, samples: [] }),
    planReadings: async () => ({}),
    queueAgeHours: async () => 0,
    announce: async () => {},
    proposals: { follow: async () => [], close: () => undefined },
  }),
  forecast,
  execs: new ExecSessions(),
  logSearch: new LogSearchService({ driver, executors: new Map() }),
  mlflow: new MlflowService({ home: config.home, log, nowMs: () => Date.now(), onPoints: () => undefined }),
  replays: new ReplayService(sqliteAddress(path.join(config.home, "journal"))),
  storeService: new StoreService(config.home),
  log,
  notificationChannels: [],
  tokens,
  denials: new Denials(),
  gateway,
  trials: new EndpointTrials(gateway, tokens),
  incidents,
  signalMemory: new SignalMemory(null, log),
  drills: new DrillService({ home: config.home, driver, forecast, log, nowMs: () => Date.now() }),
  remediations,
  qualifications: new QualificationService({ home: config.home, driver, log, nowMs: () => Date.now() }),
  remedies: new RemedyService({
    driver,
    incidents,
    telemetry,
    forecast,
    remediations,
    executors: { executors: new Map() },
    log,
    nowMs: () => Date.now(),
  }),
  metricSourceService: new MetricSourceService({ home: config.home, driver, telemetry, log }),
  metricTriggers: new MetricTriggers({ home: config.home, driver, telemetry, log, nowMs: () => Date.now() }),
  autoscaler: new AutoscalerService({ home: config.home, driver, telemetry, forecast, log, nowMs: () => Date.now() }),
  provisioners: new ProvisionerService({ home: config.home, driver, log }),
  version: "bench",
  startedAtMs: Date.now(),
  address: () => "",
  nowMs: () => Date.now(),
};
const { app } = createApi({ plane, consoleDir: null });
await app.listen({ host: "127.0.0.1", port: 0 });
const address = app.server.address();
if (address === null || typeof address === "string") throw new Error("no port");

let stop = await begin();
process.on("message", (message) => void answer(message));
tellParent({ port: address.port, token });

async function answer(message: unknown): Promise<void> {
  if (message === "begin") stop = await begin();
  if (message === "end") tellParent(await stop());
  if (message !== "close") return;
  await app.close();
  plane.tokens.close();
  await plane.measuredRuns.close();
  await plane.accelerators.close();
  await plane.sizing.close();
  await plane.plan.close();
  await plane.forecast.close();
  await driver.close();
  await telemetry.close();
  await executor.close();
  process.disconnect?.();
}

async function open({ home, journal }: ControlPlaneConfig): Promise<Driver> {
  if (journal === "durable") {
    const openJournal = sqliteJournal(path.join(home, "journal"));
    return openDriver({ openJournal, executors: [executor], telemetry, log, onFatal });
  }
  const stubbed = new BatchDriver({
    engine: createEngine(),
    journal: new StubbedJournal(),
    executors: [executor],
    telemetry,
    clock: new SteadyClock(systemClock, 0),
    log,
    onFatal,
    onPoint: () => undefined,
    snapshots: { ...snapshotDefaults, everyEvents: Number.MAX_SAFE_INTEGER, everyMs: Number.MAX_SAFE_INTEGER },
    digestEveryEvents: null,
    digestQuietMs: 5_000,
    restoredSnapshotSequence: 0,
    recoveryMs: 0,
    isSafe: false,
    marker: null,
  });
  executor.watch((input) => void stubbed.observe(input));
  stubbed.start([]);
  return stubbed;
}

/** Fills the queue with workloads through the driver, as fast as the driver accepts them. */
async function preload(
  target: Driver,
  { waitingCount: count, waitingWorkers: workers = 1, teamCount = 0 }: ControlPlaneConfig,
): Promise<void> {
  const teams = Array.from({ length: teamCount }, (_, index) => teamName(`team-${index}`));
  if (teams.length > 0) await addTeams(target, teams);
  const common = { run: "true", dir: null, env: {}, acceleratorTypes: [], walltimeMs: null };
  const gang = { workers, accelerators: 8, coresMilli: 0, memoryMib: 0 };
  const retries = { max: 0, backoffMs: 0, backoffMaxMs: 0 };
  const rest = { priority: 0, retries, graceTimeoutMs: 1_000, checkpointDir: null };
  for (let first = 0; first < count; first += 2_000) {
    const batch = Array.from({ length: Math.min(2_000, count - first) }, (_, index) =>
      target.command({
        kind: "submitWorkload",
        spec: {
          kind: "train",
          name: `preload-${first + index}`,
          team: teams[(first + index) % teamCount] ?? teamName("default"),
          ...common,
          gang,
          ...rest,
        },
        actor: "bench",
        idempotencyKey: null,
      }),
    );
    await Promise.all(batch);
  }
}

async function addTeams(target: Driver, names: readonly TeamName[]): Promise<void> {
  const teams = names.map((name) => ({ name, parent: null, limit: {} }));
  const documents = { sites: [], pools: [], teams, schedules: [], calendar: [], workloads: [] };
  const reply = await target.command({ kind: "apply", ...documents, actor: "bench", idempotencyKey: null });
  if (reply.kind === "rejected") throw new Error(JSON.stringify(reply.rejection));
}

/** Starts measuring. The returned function ends the measurement and returns the figures. */
async function begin(): Promise<() => Promise<ControlPlaneFigures>> {
  const delay = monitorEventLoopDelay({ resolution: LOOP_SAMPLE_MS });
  delay.enable();
  const cpu = process.cpuUsage();
  const before = driver.status();
  const { submittedCount, waitingBefore } = await driver.read((engine) => ({
    submittedCount: engine.state.submittedCount,
    waitingBefore: waitingSummary(engine).workloads,
  }));
  const endedBefore = executor.endedCount;
  return async () => {
    delay.disable();
    const used = process.cpuUsage(cpu);
    const after = driver.status();
    const state = await driver.read((engine) => ({
      submittedCount: engine.state.submittedCount,
      waitingAfter: waitingSummary(engine).workloads,
    }));
    return {
      submittedCount: state.submittedCount - submittedCount,
      endedCount: executor.endedCount - endedBefore,
      waitingBefore,
      waitingAfter: state.waitingAfter,
      syncCount: after.syncCount - before.syncCount,
      commandCount: after.commandCount - before.commandCount,
      loopDelayP99Ms: Math.max(0, delay.percentile(99) / 1e6 - LOOP_SAMPLE_MS),
      loopDelayMaxMs: Math.max(0, delay.max / 1e6 - LOOP_SAMPLE_MS),
      syncP50Ms: after.sync.p50Ms,
      decideP99Ms: after.decide.p99Ms,
      cpuS: (used.user + used.system) / 1e6,
      rssMib: Math.round(process.memoryUsage().rss / 1_048_576),
    };
  };
}
