/**
 * Assembles the control plane: journal, driver, executor, API. A failed start throws an `OperationalError` that states
 * the remedy, and leaves nothing behind. Closing leaves work running.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import type { Server as TlsServer } from "node:https";
import { hostname } from "node:os";
import path from "node:path";
import { createLocalExecutor, executorTypes } from "@headroom/executors";
import { readTlsFiles, renewTls } from "@headroom/platform";
import type { TlsFiles } from "@headroom/platform";
import type { Executor, ExecutorType, LocalExecutorOptions } from "@headroom/executors";
import { sqliteAddress, sqliteJournal } from "@headroom/journal";
import type { SqliteOptions } from "@headroom/journal";
import { createApi } from "./api/app.ts";
import { beginWatches } from "./begin-watches.ts";
import { listen } from "./listen.ts";
import type { Api } from "./api/app.ts";
import type { ControlPlane } from "./api/control-plane.ts";
import { revokeWithoutTeam } from "./api/tokens.ts";
import { loadToken } from "./auth/home-token.ts";
import { AccessTokens } from "./auth/access-tokens.ts";
import { Denials } from "./auth/denials.ts";
import { checkExposure } from "./auth/exposure.ts";
import { Gate } from "./auth/gate.ts";
import type { DriverLog } from "./driver/driver-log.ts";
import type { Driver } from "./driver/driver.ts";
import { openDriver } from "./driver/open-driver.ts";
import type { OpenDriverOptions } from "./driver/open-driver.ts";
import { inventoryDefaults } from "./executors/executor-contact.ts";
import type { InventoryRules } from "./executors/executor-contact.ts";
import { ExecutorService } from "./executors/executor-service.ts";
import { MetricSourceService } from "./metric-sources/metric-source-service.ts";
import { MetricTriggers } from "./metric-sources/metric-triggers.ts";
import type { RemoteWriteTarget } from "./metric-sources/remote-writer.ts";
import type { TracingTarget } from "./tracing/otlp-exporter.ts";
import { StoreService } from "./stores/store-service.ts";
import { prepareHome } from "./prepare-home.ts";
import { registerMachine } from "./machine-registration.ts";
import { openMeasuredRuns } from "./measured-runs/open-measured-runs.ts";
import type { MeasuredRunRules } from "./measured-runs/measured-run-service.ts";
import { incidentMessage } from "./notifications/message.ts";
import { SignalMemory } from "./executors/signal-memory.ts";
import { IncidentService } from "./incidents/incident-service.ts";
import { RemedyService } from "./remedies/remedy-service.ts";
import { SERVER_FILE, announce } from "./server-file.ts";
import { Notifier } from "./notifications/notifier.ts";
import type { NotificationRule } from "./notifications/rules.ts";
import { choosePolicy } from "./policy-choice.ts";
import { retentionDefaults } from "./retention/attempt-store.ts";
import type { RetentionRules } from "./retention/attempt-store.ts";
import { EndpointTrials } from "./gateway/endpoint-trials.ts";
import { checkGatewayAddress, GatewayReader, type GatewayAddress } from "./gateway/gateway-reader.ts";
import { SAFE_MODE } from "./driver/safe-mode.ts";
import { StartMarker, deathsText } from "./recovery/start-marker.ts";
import { RetainingExecutor } from "./retention/retaining-executor.ts";
import { CapacityService } from "./capacity/capacity-service.ts";
import { ProvisionerService } from "./provisioners/provisioner-service.ts";
import { AutoscalerService } from "./endpoints/autoscaler-service.ts";
import { ExecSessions } from "./exec/exec-sessions.ts";
import { reportCurves } from "./mlflow/attempt-curves.ts";
import { MlflowService } from "./mlflow/mlflow-service.ts";
import { ForecastService } from "./forecast/forecast-service.ts";
import { QualificationService } from "./qualifications/qualification-service.ts";
import { RemediationService } from "./remediations/remediation-service.ts";
import { DrillService } from "./drills/drill-service.ts";
import { LogSearchService } from "./log-search/log-search-service.ts";
import { CostService } from "./costs/cost-service.ts";
import { OfferService } from "./offers/offer-service.ts";
import { openTriggerWatch } from "./plan/open-trigger-watch.ts";
import { PlanService } from "./plan/plan-service.ts";
import { ReplayService } from "./replay/replay-service.ts";
import { SizingService } from "./sizing/sizing-service.ts";
import { exitSoon } from "./exit-soon.ts";
import { AcceleratorSampler } from "./telemetry/accelerator-sampler.ts";
import { Telemetry, telemetryDefaults } from "./telemetry/telemetry.ts";
import type { TelemetryRules } from "./telemetry/telemetry-messages.ts";

export interface ControlPlaneOptions {
  /** The state directory: journal, token, attempts. */
  readonly home: string;
  /** Address to listen on; default `127.0.0.1`. */
  readonly host?: string;
  /** Port to listen on; default 7070, 0 takes any free port. */
  readonly port?: number;
  /** Certificate and key in PEM files, which are read again when they change; default: no TLS. */
  readonly tls?: TlsFiles | null;
  /**
   * True: listens beyond this machine even without TLS, where the token travels in clear. Default: such a start is
   * refused.
   */
  readonly insecure?: boolean;
  /** The bearer token, which the start writes to the state directory. Default: the one there, or a new one. */
  readonly token?: string;
  /** `off`: no authentication, and the server listens on loopback only. Default: `token`. */
  readonly auth?: "token" | "off";
  /** Further names under which browsers reach this server, for example behind a proxy. */
  readonly hostNames?: readonly string[];
  /** Options of the executor for this machine, such as declared slots. */
  readonly local?: Omit<LocalExecutorOptions, "homeDir">;
  /** The inference gateway that the console shows; default: none. */
  readonly gateway?: GatewayAddress;
  /** Where metrics and series are written to with remote write; default: nowhere. */
  readonly remoteWrite?: RemoteWriteTarget;
  /** Collector of spans of decisions and attempts; default: none. */
  readonly tracing?: TracingTarget;
  /** Folder of the built console; default: none. */
  readonly consoleDir?: string | null;
  /** The preset to activate. Default: the present policy, or `default` if the journal is new. */
  readonly policy?: string;
  /**
   * How many ended attempts (logs, exit codes) are kept, and how long; default: the newest 2,000 of the last 30 days.
   */
  readonly retention?: Partial<RetentionRules>;
  /** Maximum age and bytes of the attempts' telemetry; default: 30 days, 1 GiB. */
  readonly telemetry?: Partial<TelemetryRules>;
  /** Interval and minimum period of step measurements; default: every minute, over at least 5 s. */
  readonly measuredRuns?: Partial<MeasuredRunRules>;
  /**
   * True: starts even if the journal has lost its end or its recorded inputs are damaged. Default: such a start is
   * refused.
   */
  readonly acceptsJournalLoss?: boolean;
  /** True: starts without deciding, so that workloads can be stopped; see `driver/safe-mode.ts`. Default: false. */
  readonly safe?: boolean;
  /**
   * Interval of inventories, and time after which a node missing from them is lost; default: a minute, five minutes.
   */
  readonly inventory?: Partial<InventoryRules>;
  /** Notification rules; default: none. */
  readonly notifications?: readonly NotificationRule[];
  /** For tests: pauses between attempts to deliver a notification. */
  readonly notificationPausesMs?: readonly number[];
  /** For tests: time in ms in which an incident gathers its failures before it is announced. */
  readonly incidentSettleMs?: number;
  readonly log?: DriverLog;
  /** Called when the journal has failed and the process must end. Default: the process exits with 1. */
  readonly onFatal?: (error: Error) => void;
  /** For tests: time in ms between two readings of the accelerators; default 15 s. */
  readonly readingsEveryMs?: number;
  /** For tests: time in ms between two evaluations of scaling triggers; default a minute. */
  readonly triggersEveryMs?: number;
  /** Options of the embedded journal, for tests and benchmarks. */
  readonly journal?: Partial<Omit<SqliteOptions, "directory">>;
  /** Further options of the driver, for tests and benchmarks. */
  readonly driver?: Pick<OpenDriverOptions, "snapshots" | "digestEveryEvents" | "onPoint">;
  /** Executors that replace the one for this machine. */
  readonly executors?: readonly Executor[];
  /** Types of executors that can be declared; default: all that exist. */
  readonly executorTypes?: readonly ExecutorType[];
}

export interface RunningControlPlane {
  /** URL such as `http://127.0.0.1:7070`. */
  readonly url: string;
  /** URL for programs on this machine. It differs from `url` if the server listens on all addresses. */
  readonly localUrl: string;
  /** SHA-256 of the certificate at the start, in hexadecimal; `null`: no TLS. */
  readonly certificateSha256: string | null;
  /** The bearer token; `null` if `auth` is off. */
  readonly token: string | null;
  readonly driver: Driver;
  /**
   * Ends streams and requests, finishes accepted commands, releases the directory. Running work continues. A second
   * call does nothing.
   */
  close(): Promise<void>;
}

const DEFAULT_PORT = 7070;
const journalDirectory = (home: string): string => path.join(home, "journal");

const stderrLog: DriverLog = {
  info: () => undefined,
  warn: (message) => void process.stderr.write(`warning: ${message}\n`),
  error: (message) => void process.stderr.write(`error: ${message}\n`),
};

export async function startControlPlane(options: ControlPlaneOptions): Promise<RunningControlPlane> {
  const { home, host = "127.0.0.1", port = DEFAULT_PORT, auth = "token", log = stderrLog } = options;
  const exposure = checkExposure(options);
  if (options.gateway !== undefined) checkGatewayAddress(options.gateway, options.insecure === true);
  if (exposure !== null) log.warn(exposure);
  const certificate = options.tls == null ? null : readTlsFiles(options.tls);
  prepareHome(home);
  const stores = new StoreService(home);
  const executors = executorService(options, log, stores);
  let telemetry: Telemetry | null = null;
  let driver: Driver | null = null;
  let api: Api | null = null;
  let url = "";
  let localUrl = "";
  let stopRenewal = (): void => undefined;
  const isSafe = options.safe === true;
  const marker = new StartMarker(home, () => Date.now());
  const onLocked = (): void => beginMarker(marker, log, isSafe);
  try {
    telemetry = openTelemetry(options, log);
    await executors.open();
    driver = await openDriver({
      ...options.driver,
      telemetry,
      openJournal: sqliteJournal(
        journalDirectory(home),
        { acceptsLoss: options.acceptsJournalLoss ?? false, ...options.journal },
        onLocked,
      ),
      isSafe,
      marker,
      executors: executors.own,
      declared: executors.declared,
      log,
      onFatal: (error) => (options.onFatal ?? exitSoon)(error),
    });
    await telemetry.restore(await driver.read(({ state }) => [...state.attempts.keys()]));
    const token = auth === "off" ? null : loadToken(home, options.token);
    const notifier = openNotifier(options, driver, log);
    const opened = { driver, telemetry, executors, stores, notifier, token, log };
    const plane = controlPlane(options, { ...opened, address: () => url });
    if (!isSafe) {
      await revokeWithoutTeam(plane);
      await choosePolicy(driver, options.policy);
      await registerMachine(driver, executors.own);
      await executors.record(driver);
    }
    api = createApi({ plane, consoleDir: options.consoleDir ?? null, tls: certificate });
    ({ url, localUrl } = await listen(api, { host, port, isTls: certificate !== null }));
    const endWatches = beginWatches(options, plane, executors);
    notifier.start();
    plane.incidents.start();
    plane.drills.start();
    announce(home, localUrl, certificate);
    if (options.tls != null) stopRenewal = renewed({ home, url: localUrl, log, api, files: options.tls });
    const certificateSha256 = certificate?.fingerprint ?? null;
    const started = { home, url, localUrl, certificateSha256, token, plane, api, executors, notifier, marker };
    return running({ ...started, stopWatches: () => endWatches(stopRenewal) });
  } catch (error) {
    stopRenewal();
    await api?.close();
    await driver?.close();
    marker.end(false);
    await telemetry?.close();
    await executors.close();
    throw error;
  }
}

/** Marks this process as running, and warns of what earlier ones left. The journal is locked. */
function beginMarker(marker: StartMarker, log: DriverLog, isSafe: boolean): void {
  const deaths = deathsText(marker.begin());
  if (deaths !== null) log.warn(deaths);
  if (isSafe) log.warn(SAFE_MODE);
}

interface Opened {
  readonly driver: Driver;
  readonly telemetry: Telemetry;
  readonly executors: ExecutorService;
  readonly stores: StoreService;
  readonly notifier: Notifier;
  readonly token: string | null;
  readonly log: DriverLog;
  address(): string;
}

function incidentService(
  { home, incidentSettleMs: settleMs }: ControlPlaneOptions,
  { driver, notifier, log }: Opened,
  nowMs: () => number,
): IncidentService {
  const service: IncidentService = new IncidentService({
    home,
    driver,
    log,
    nowMs,
    announce: async (incident, what) =>
      notifier.send(
        incidentMessage(incident, what, {
          sequence: driver.status().sequence,
          atMs: nowMs(),
          runbooksOf: service.runbooks.reader(),
        }),
      ),
    ...(settleMs === undefined ? {} : { settleMs }),
  });
  return service;
}

const acceleratorSampler = (
  { readingsEveryMs: everyMs }: ControlPlaneOptions,
  { driver, telemetry, executors: { executors }, log }: Opened,
  nowMs: () => number,
): AcceleratorSampler => new AcceleratorSampler({ driver, telemetry, executors, log, nowMs, everyMs });

function controlPlane(options: ControlPlaneOptions, opened: Opened): ControlPlane {
  const { home, host, hostNames = [], readingsEveryMs } = options;
  const { driver, telemetry, executors, stores, token, log } = opened;
  const nowMs = (): number => Date.now();
  const tokens = new AccessTokens({ home, nowMs });
  const incidents = incidentService(options, opened, nowMs);
  const forecast = new ForecastService({ driver, nowMs });
  const remediations = new RemediationService({ home, driver, forecast, log, nowMs });
  const own = [...hostNames, hostname(), ...(host === undefined ? [] : [host])];
  const accelerators = acceleratorSampler(options, opened, nowMs);
  const capacity = new CapacityService({
    home,
    driver,
    telemetry,
    readings: accelerators.readings,
    log,
    nowMs,
    everyMs: readingsEveryMs,
  });
  const plan = new PlanService({ home, log, nowMs });
  const gateway = new GatewayReader(options.gateway ?? null);
  telemetry.onReadings = (readings) => void accelerators.recordExported(readings);
  return {
    driver,
    telemetry,
    notificationChannels: (options.notifications ?? []).flatMap(({ ofChannel }) => ofChannel ?? []),
    accelerators,
    executors: executors.executors,
    executorService: executors,
    storeService: stores,
    metricSourceService: new MetricSourceService({ home, driver, telemetry, log, remoteWrite: options.remoteWrite }),
    metricTriggers: new MetricTriggers({ home, driver, telemetry, log, nowMs }),
    gate: new Gate({ token, hostNames: own, tokens, nowMs }),
    tokens,
    denials: new Denials(),
    sizing: new SizingService(),
    plan,
    costs: new CostService({ home, journal: sqliteAddress(journalDirectory(home)), nowMs }),
    offers: new OfferService({ home, nowMs }),
    measuredRuns: openMeasuredRuns(options, opened, nowMs),
    capacity,
    triggers: openTriggerWatch(options, opened, { nowMs, capacity, forecast, remediations, plan }),
    incidents,
    signalMemory: new SignalMemory(home, log),
    drills: new DrillService({ home, driver, forecast, log, nowMs }),
    remediations,
    qualifications: new QualificationService({ home, driver, log, nowMs }),
    remedies: new RemedyService({ driver, incidents, telemetry, forecast, remediations, executors, log, nowMs }),
    forecast,
    execs: new ExecSessions(),
    logSearch: new LogSearchService({ driver, executors: executors.executors }),
    mlflow: new MlflowService({
      home,
      log,
      nowMs,
      onPoints: (logged) => reportCurves({ driver, telemetry }, logged),
    }),
    gateway,
    trials: new EndpointTrials(gateway, tokens),
    autoscaler: new AutoscalerService({ home, driver, telemetry, forecast, log, nowMs }),
    provisioners: new ProvisionerService({ home, driver, log }),
    replays: new ReplayService(sqliteAddress(journalDirectory(home))),
    log,
    version: productVersion(),
    startedAtMs: nowMs(),
    address: () => opened.address(),
    nowMs,
  };
}

interface Started {
  readonly home: string;
  readonly url: string;
  readonly localUrl: string;
  readonly certificateSha256: string | null;
  readonly token: string | null;
  readonly plane: ControlPlane;
  readonly api: Api;
  readonly executors: ExecutorService;
  readonly notifier: Notifier;
  readonly marker: StartMarker;
  stopWatches(): Promise<void>;
}

function running({
  home,
  url,
  localUrl,
  certificateSha256,
  token,
  plane,
  api,
  executors,
  notifier,
  marker,
  stopWatches,
}: Started): RunningControlPlane {
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    await stopWatches();
    await plane.metricTriggers.close();
    await plane.remedies.close();
    await plane.remediations.close();
    await plane.incidents.close();
    await plane.drills.close();
    plane.qualifications.close();
    await notifier.close();
    await plane.measuredRuns.close();
    plane.capacity.close();
    await plane.autoscaler.close();
    plane.provisioners.close();
    plane.metricSourceService.close();
    plane.tokens.close();
    await plane.accelerators.close();
    plane.execs.close();
    await api.close();
    await plane.mlflow.close();
    // The file is removed only while the directory is locked: afterwards it can belong to another process.
    rmSync(path.join(home, SERVER_FILE), { force: true });
    const hasFailed = plane.driver.status().phase === "failed";
    const services = [plane.sizing, plane.plan, plane.costs, plane.offers, plane.forecast, plane.replays];
    await Promise.all([plane.driver.close(), ...services.map((service) => service.close())]);
    // After a failure the file says what was decided then.
    if (!hasFailed) marker.end(true);
    await plane.telemetry.close();
    await executors.close();
    await plane.storeService.close();
  };
  return {
    url,
    localUrl,
    certificateSha256,
    token,
    driver: plane.driver,
    close: () => (closing ??= close()),
  };
}

interface Renewed {
  readonly home: string;
  readonly url: string;
  readonly log: DriverLog;
  readonly api: Api;
  readonly files: TlsFiles;
}

/** Renews the certificate of the running server, and its fingerprint in the file by which clients find the server. */
function renewed({ home, url, log, api, files }: Renewed): () => void {
  return renewTls({
    server: api.app.server as TlsServer,
    files,
    renewed: (pair) => {
      announce(home, url, pair);
      log.info("the certificate was read again; new connections get it");
    },
    failed: (message) => log.warn(`the control plane continues with the earlier certificate: ${message}`),
  });
}

function openTelemetry({ home, telemetry }: ControlPlaneOptions, log: DriverLog): Telemetry {
  const rules = { ...telemetryDefaults, ...telemetry };
  const isExpected = existsSync(journalDirectory(home));
  return new Telemetry({ file: path.join(home, "telemetry.db"), rules, isExpected, log, nowMs: () => Date.now() });
}

function openNotifier(options: ControlPlaneOptions, driver: Driver, log: DriverLog): Notifier {
  const { home, notifications: rules = [], notificationPausesMs: retryPausesMs } = options;
  return new Notifier({ driver, rules, home, log, ...(retryPausesMs === undefined ? {} : { retryPausesMs }) });
}

function executorService(options: ControlPlaneOptions, log: DriverLog, stores: StoreService): ExecutorService {
  const { home, executorTypes: types = executorTypes } = options;
  const rules = { ...retentionDefaults, ...options.retention };
  const nowMs = (): number => Date.now();
  const retained = (executor: Executor): RetainingExecutor => new RetainingExecutor({ executor, rules, log, nowMs });
  const own = (options.executors ?? [localExecutor(options, log, stores)]).map(retained);
  return new ExecutorService({
    home,
    types,
    own,
    rules: { ...inventoryDefaults, ...options.inventory },
    log,
    stores: stores.stores,
    retained,
    nowMs,
  });
}

function localExecutor({ home, local }: ControlPlaneOptions, log: DriverLog, { stores }: StoreService): Executor {
  const onProblem = (message: string): void => log.warn(message);
  return createLocalExecutor({ onProblem, stores, ...local, homeDir: path.resolve(home) });
}

function productVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(path.join(import.meta.dirname, "../package.json"), "utf8"));
  return (manifest as { readonly version: string }).version;
}
