/** Begins what the control plane does by itself after its start. */
import type { ControlPlane } from "./api/control-plane.ts";
import { AdoptionService } from "./executors/adoption-service.ts";
import type { ExecutorService } from "./executors/executor-service.ts";
import { NodeSignalService } from "./executors/node-signal-service.ts";
import { recordRules } from "./mlflow/artifact-rules.ts";
import { lookAtEachPool } from "./executors/look-at-each-pool.ts";
import type { ControlPlaneOptions } from "./server.ts";
import { TraceService } from "./tracing/trace-service.ts";

/** Begins services and traces; services not in safe mode. Returns how to end them, after what the caller stops first. */
export function beginWatches(
  { safe = false, tracing }: Pick<ControlPlaneOptions, "safe" | "tracing">,
  plane: ControlPlane,
  executors: ExecutorService,
): (stopFirst: () => void) => Promise<void> {
  const { driver, log } = plane;
  recordRules(plane).catch((error: unknown) =>
    log.warn(
      `the data rules of earlier MLflow runs could not be recorded (${String(error)}); the next start repeats it`,
    ),
  );
  const endServices = safe ? null : beginServices(plane, executors);
  const traces = tracing === undefined ? null : new TraceService({ driver, tracing, log });
  return async (stopFirst) => {
    stopFirst();
    endServices?.();
    executors.stop();
    await traces?.close();
  };
}

/** Begins what decides or asks on its own. Returns how to end it. */
function beginServices(plane: ControlPlane, executors: ExecutorService): () => void {
  const {
    driver,
    autoscaler,
    provisioners,
    metricSourceService,
    metricTriggers,
    remedies,
    remediations,
    qualifications,
    storeService,
    triggers,
    log,
  } = plane;
  executors.begin(driver);
  autoscaler.start();
  provisioners.start();
  metricSourceService.start();
  metricTriggers.start();
  remedies.start();
  remediations.start();
  qualifications.start();
  triggers.start();
  const adoption = new AdoptionService({ driver, executors: plane.executors, forecast: plane.forecast, log });
  adoption.start();
  const signals = new NodeSignalService({
    driver,
    executors: plane.executors,
    memory: plane.signalMemory,
    nowMs: plane.nowMs,
    incidents: plane.incidents,
    log,
  });
  signals.start();
  const stopStores = storeService.begin(driver, log);
  const stopLooking = lookAtEachPool(driver, () => executors.look());
  return () => {
    triggers.close();
    adoption.close();
    signals.close();
    stopStores();
    stopLooking();
  };
}
