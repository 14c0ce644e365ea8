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
