export type { Fault, FaultAction, Severity } from "./faults/fault.ts";
export { readFault } from "./faults/read-fault.ts";
