export type { Fault, FaultAction, Severity } from "./faults/fault.ts";
export { readFault } from "./faults/read-fault.ts";
export { forecastSpares, observedP99, type SparesForecast } from "./spares/failure-model.ts";
export { faultIntervals, type FaultEvent } from "./spares/fault-trace.ts";
