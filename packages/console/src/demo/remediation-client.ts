/** Remediation of drift in the demo, which has no nodes to run commands on. */
import { refuse } from "@headroom/protocol";
import type { HeadroomClient } from "@headroom/protocol";

type RemediationCalls =
  | "listRemediations"
  | "checkRemediation"
  | "listRemediationRuns"
  | "getRemediationRun"
  | "cancelRemediationRun";

export const remediationReading: Pick<HeadroomClient, RemediationCalls> = {
  listRemediations: () => Promise.resolve({ items: [], problem: null }),
  checkRemediation: () => Promise.reject(refuse("notSupported", "The demo has no commands to run on nodes.")),
  listRemediationRuns: () => Promise.resolve({ items: [] }),
  getRemediationRun: (id) => Promise.reject(refuse("unknownRemediationRun", `There is no run ${id}.`)),
  cancelRemediationRun: (id) => Promise.reject(refuse("unknownRemediationRun", `There is no run ${id}.`)),
};
