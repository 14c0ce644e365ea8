/** A job of a trace that asks for four accelerators and nothing else; what it is called and when it came does not matter. */
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
