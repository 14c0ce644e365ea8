/** Everything that an API handler may use. */
import type { ExecutorId } from "@headroom/model";
import type { Executor } from "@headroom/executors";
import type { AccessTokens } from "../auth/access-tokens.ts";
import type { Denials } from "../auth/denials.ts";
import type { Gate } from "../auth/gate.ts";
import type { Driver } from "../driver/driver.ts";
import type { DriverLog } from "../driver/driver-log.ts";
import type { ExecutorService } from "../executors/executor-service.ts";
import type { ProvisionerService } from "../provisioners/provisioner-service.ts";
import type { MetricSourceService } from "../metric-sources/metric-source-service.ts";
import type { MetricTriggers } from "../metric-sources/metric-triggers.ts";
import type { StoreService } from "../stores/store-service.ts";
import type { AutoscalerService } from "../endpoints/autoscaler-service.ts";
import type { EndpointTrials } from "../gateway/endpoint-trials.ts";
import type { GatewayReader } from "../gateway/gateway-reader.ts";
import type { ForecastService } from "../forecast/forecast-service.ts";
import type { ReplayService } from "../replay/replay-service.ts";
import type { ExecSessions } from "../exec/exec-sessions.ts";
import type { CapacityService } from "../capacity/capacity-service.ts";
import type { QualificationService } from "../qualifications/qualification-service.ts";
import type { RemediationService } from "../remediations/remediation-service.ts";
import type { RemedyService } from "../remedies/remedy-service.ts";
import type { SignalMemory } from "../executors/signal-memory.ts";
import type { IncidentService } from "../incidents/incident-service.ts";
import type { AcceleratorSampler } from "../telemetry/accelerator-sampler.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { MeasuredRunService } from "../measured-runs/measured-run-service.ts";
import type { MlflowService } from "../mlflow/mlflow-service.ts";
import type { DrillService } from "../drills/drill-service.ts";
import type { CostService } from "../costs/cost-service.ts";
import type { LogSearchService } from "../log-search/log-search-service.ts";
import type { TriggerWatch } from "../plan/trigger-watch.ts";
import type { OfferService } from "../offers/offer-service.ts";
import type { PlanService } from "../plan/plan-service.ts";
import type { SizingService } from "../sizing/sizing-service.ts";

export interface ControlPlane {
  readonly driver: Driver;
  readonly telemetry: Telemetry;
  readonly accelerators: AcceleratorSampler;
  /** Open executors by id. The map changes when executors come and go. */
  readonly executors: ReadonlyMap<ExecutorId, Executor>;
  readonly executorService: ExecutorService;
  readonly storeService: StoreService;
  readonly metricSourceService: MetricSourceService;
  readonly metricTriggers: MetricTriggers;
  readonly gate: Gate;
  readonly tokens: AccessTokens;
  readonly denials: Denials;
  readonly sizing: SizingService;
  readonly plan: PlanService;
  readonly costs: CostService;
  readonly offers: OfferService;
  readonly triggers: TriggerWatch;
  readonly measuredRuns: MeasuredRunService;
  readonly capacity: CapacityService;
  readonly incidents: IncidentService;
  readonly signalMemory: SignalMemory;
  readonly drills: DrillService;
  readonly remediations: RemediationService;
  readonly qualifications: QualificationService;
  readonly remedies: RemedyService;
  readonly forecast: ForecastService;
  readonly replays: ReplayService;
  readonly execs: ExecSessions;
  readonly logSearch: LogSearchService;
  readonly mlflow: MlflowService;
  readonly gateway: GatewayReader;
  readonly trials: EndpointTrials;
  readonly autoscaler: AutoscalerService;
  readonly provisioners: ProvisionerService;
  readonly log: DriverLog;
  /** Names of the declared notification channels. */
  readonly notificationChannels: readonly string[];
  readonly version: string;
  /** Start time of this process. */
  readonly startedAtMs: number;
  /** URL such as `http://127.0.0.1:7070`; empty until the server listens. */
  address(): string;
  nowMs(): number;
}
