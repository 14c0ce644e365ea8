/** Answers of the demo to operations that need a live fleet. */
import { operations, refuse } from "@headroom/protocol";
import type { HeadroomClient, Operation, ProblemError } from "@headroom/protocol";
import { remediationReading } from "./remediation-client.ts";

const nothingKept = (): ProblemError =>
  refuse("notSupported", "The demo keeps no journal, so there is nothing that could be replayed.");
const noProcesses = (): ProblemError =>
  refuse("notSupported", "Simulated work has no processes, so no command can be run inside.");

/** Operations that only a live fleet supports, with what the demo answers instead. */
const answers = {
  // oxlint-disable-next-line require-yield -- a stream that is refused before its first item.
  async *logs() {
    throw refuse("notSupported", "Simulated work has no processes, so it writes no logs. Its progress is simulated.");
  },
  searchLogs: () => Promise.reject(refuse("notSupported", "Simulated work writes no logs that could be searched.")),
  startExec: () => Promise.reject(noProcesses()),
  // oxlint-disable-next-line require-yield -- a stream that is refused before its first item.
  async *execOutput() {
    throw noProcesses();
  },
  execInput: () => Promise.reject(noProcesses()),
  endExec: () => Promise.reject(noProcesses()),
  usage: () => Promise.reject(refuse("notSupported", "Simulated work uses no processor and no memory.")),
  startReplay: () => Promise.reject(nothingKept()),
  replay: () => Promise.reject(nothingKept()),
  cancelReplay: () => Promise.reject(nothingKept()),
  startDrill: () =>
    Promise.reject(refuse("notSupported", "The demo has no nodes to take from work. Simulate the drill.")),
  listDrills: () => Promise.resolve({ items: [] }),
  getDrill: (id) => Promise.reject(refuse("unknownDrill", `There is no drill ${id}.`)),
  ...remediationReading,
  cancelDrill: (id) => Promise.reject(refuse("unknownDrill", `There is no drill ${id}.`)),
  declareModel: () => Promise.reject(refuse("notSupported", "Simulated work trains no model.")),
  workloadPerformance: () => Promise.resolve({ items: [] }),
  predictions: () => Promise.resolve({ items: [], unpredicted: "Simulated work trains no model." }),
  fleetPredictions: () =>
    Promise.resolve({ correction: { kind: "fleet-correction", version: 1, types: [] }, kinds: [], runs: [] }),
  storePlan: () => Promise.reject(refuse("notSupported", "The demo has no solver, so its plan cannot be replaced.")),
  gateway: () => Promise.reject(refuse("notSupported", "The demo has no gateway.")),
  tryEndpoint: () => Promise.reject(refuse("notSupported", "No model answers in the demo.")),
  reportLoad: () => Promise.reject(refuse("notSupported", "The demo has no gateway.")),
  createLoginLink: () => Promise.reject(refuse("notSupported", "The demo needs no signing in.")),
} satisfies Partial<HeadroomClient>;

/** Refuses an operation of which nobody has said what the demo answers. */
function refusal({ method, path, stream }: Operation): (...given: readonly unknown[]) => unknown {
  const problem = (): ProblemError => refuse("notSupported", `The demo does not support ${method} ${path}.`);
  // oxlint-disable-next-line require-yield -- a stream that is refused before its first item.
  const refusedStream = async function* (): AsyncGenerator<never> {
    throw problem();
  };
  return stream ? refusedStream : () => Promise.reject(problem());
}

/** A client that refuses what needs a live fleet, so that a new operation needs no change here. */
export function liveOnly(): HeadroomClient {
  const refusals = Object.entries<Operation>(operations).map(([name, operation]) => [name, refusal(operation)]);
  return { ...(Object.fromEntries(refusals) as HeadroomClient), ...answers };
}
