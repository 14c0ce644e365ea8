/** The header `traceparent` of W3C Trace Context: https://www.w3.org/TR/trace-context/#traceparent-header */

export interface TraceParent {
  readonly traceId: string;
  readonly parentId: string;
  readonly flags: string;
}

const pattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const noTrace = "0".repeat(32);
const noParent = "0".repeat(16);

/** Undefined if the header is not valid. A later version of the format may have more fields, which are left out. */
export function traceParentIn(header: string): TraceParent | undefined {
  const match = pattern.exec(header);
  if (match === null) return undefined;
  const [, version, traceId, parentId, flags, rest] = match;
  if (version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  if (traceId === noTrace || parentId === noParent) return undefined;
  return { traceId: traceId!, parentId: parentId!, flags: flags! };
}

/** The header in the format's version 00. Empty if it is not valid. */
export function validTraceparent(header: string): string {
  const parent = header === "" ? undefined : traceParentIn(header);
  return parent === undefined ? "" : `00-${parent.traceId}-${parent.parentId}-${parent.flags}`;
}
