export type { Fault, FaultAction, Severity } from "./faults/fault.ts";
export { readFault } from "./faults/read-fault.ts";
export { forecastSpares, observedP99, type SparesForecast } from "./spares/failure-model.ts";
export { faultIntervals, type FaultEvent } from "./spares/fault-trace.ts";
export type { Measurement } from "./qualification/measurement.ts";
export { withVerdicts, type Qualified } from "./qualification/peer-verdicts.ts";
export { readResults } from "./qualification/read-results.ts";
