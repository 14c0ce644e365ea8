/**
 * Faults in log lines: which device has which fault, how bad it is, and what the vendor says to do. Everything here is pure and looks at
 * one line at a time. Start with `read-fault.ts`; each file `*-rules.ts` knows one family of messages.
 */

/** `critical`: the device or the node needs a reset, a repair or a replacement. `warning`: work was hit, or a part degrades. */
export type Severity = "info" | "warning" | "critical";

/** Actions, from the least to the most intrusive. */
export type FaultAction =
  | "none"
  | "watch"
  | "check-application"
  | "restart-application"
  | "check-cooling"
  | "check-power"
  | "check-link"
  | "check-storage"
  | "check-memory"
  | "reset-device"
  | "reboot-node"
  | "replace-part";

export interface Fault {
  /** A family and its number or kind: `xid-79`, `edac-uncorrected`. */
  readonly code: string;
  /** The device as the line names it, such as `0000:3b:00`, `nvme0n1` or `CPU3`; null: the line names none. */
  readonly device: string | null;
  readonly severity: Severity;
  readonly action: FaultAction;
  readonly summary: string;
}

/** One kind of message. */
export interface FaultRule {
  /** A part of every such message in small letters, found before the pattern is tried. */
  readonly hint: string;
  readonly pattern: RegExp;
  /** Null: the message is no fault after all. The groups of the pattern are in `groups`. */
  fault(groups: Readonly<Record<string, string | undefined>>, message: string): Fault | null;
}

/** A fault without its device. */
export type FaultText = Omit<Fault, "device">;

export const warn = (code: string, action: Fault["action"], summary: string): FaultText => ({
  code,
  severity: "warning",
  action,
  summary,
});
export const critical = (code: string, action: Fault["action"], summary: string): FaultText => ({
  code,
  severity: "critical",
  action,
  summary,
});
export const info = (code: string, action: Fault["action"], summary: string): FaultText => ({
  code,
  severity: "info",
  action,
  summary,
});

/** A rule whose messages all mean the same. `device` is the pattern's group of that name. */
export function rule(hint: string, pattern: RegExp, fault: FaultText): FaultRule {
  return { hint, pattern, fault: ({ device }) => ({ ...fault, device: deviceText(device) }) };
}

/** The name of a device without the bus and punctuation around it: `PCI:0000:3b:00` is `0000:3b:00`. */
export function deviceText(device: string | undefined): string | null {
  const text = device
    ?.replace(/^PCI:/i, "")
    .replace(/[,;:.]+$/, "")
    .trim();
  return text === undefined || text === "" ? null : text;
}
