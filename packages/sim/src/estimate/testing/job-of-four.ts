/** A job of a trace with four accelerators. Its name and time do not matter. */
import type { TraceJob } from "../../trace/trace.ts";

export const jobOfFour: TraceJob = {
  id: "",
  submittedAtMs: 0,
  durationMs: 1,
  accelerators: 4,
  coresMilli: 0,
  memoryMib: 0,
  acceleratorTypes: [],
};
