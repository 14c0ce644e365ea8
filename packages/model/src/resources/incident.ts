/**
 * Facts about the health of the fleet that people and collectors report. Incidents are computed from these and from the
 * other events of the journal (`packages/health`), outside the engine.
 */

/** The record of a person about an incident. */
export type IncidentAnnotation =
  | { readonly kind: "acknowledge" }
  /** No messages about the incident until then. */
  | { readonly kind: "silence"; readonly untilMs: number }
  | { readonly kind: "resolve" }
  | { readonly kind: "note"; readonly text: string };

/** A fault that a log or a tool of a vendor reports: `xid-79` of a device, `edac-uncorrected`, a failed check. */
export interface NodeFault {
  readonly code: string;
  readonly severity: "info" | "warning" | "critical";
  /** Absent: the whole node. */
  readonly device?: string;
  readonly detail: string;
}

/** Details of the loss of a node that people took out of service at its cluster begin with this. Journals of earlier versions have no such details. */
const WITHDRAWN = "out of service at its cluster: ";

/** The detail of a loss by a drain, a cordon or a taint of the cluster. */
export const withdrawnDetail = (reason: string): string => `${WITHDRAWN}${reason}`;

/** Whether people took the node out of service at its cluster: such a loss is no failure of the node. */
export const isWithdrawnDetail = (detail: string): boolean => detail.startsWith(WITHDRAWN);
