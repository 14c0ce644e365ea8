/** All warnings about documents that are to be applied, given the present fleet, teams and work. */
import type { ReadonlyState } from "@headroom/engine";
import type { ApplyRequest, ApplyWarning } from "@headroom/protocol";
import { deadlineWarnings } from "./deadline-warnings.ts";
import { fleetWarnings } from "./fleet-warnings.ts";
import { quotaWarningsOf } from "./quota-warnings.ts";
import { engineDocuments } from "./wire-forms.ts";

type ApplyWarningState = Pick<
  ReadonlyState,
  "teams" | "pools" | "policy" | "sites" | "nodes" | "attempts" | "workloads"
>;

export const applyWarnings = (state: ApplyWarningState, request: ApplyRequest, nowMs: number): ApplyWarning[] => [
  ...quotaWarningsOf(state, request),
  ...fleetWarnings(state, engineDocuments(request)),
  ...deadlineWarnings(state, request, nowMs),
];
