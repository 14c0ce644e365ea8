/**
 * Readings of an accelerator at one time, from the vendor's tool. This folder runs `nvidia-smi`, `dcgmi` and `rocm-smi` with fixed arguments
 * and reads what they print; it must not know nodes or attempts. Start with `read-devices.ts`.
 */

/** `null`: the tool does not say it, for example utilization of a card that is divided by MIG. */
export interface DeviceValues {
  /** Share of the last sampling period in which the card was busy, in thousandths. */
  readonly busyMilli: number | null;
  readonly memoryUsedMib: number | null;
  readonly memoryTotalMib: number | null;
  readonly temperatureC: number | null;
  readonly powerMilliwatts: number | null;
  /** Uncorrected memory errors since the driver was loaded. */
  readonly errorCount: number | null;
}

export interface DeviceReading extends DeviceValues {
  /** The vendor's own number on this machine. */
  readonly deviceIndex: number;
  /** The tool reports an error instead of a value: which one. */
  readonly fault: string | null;
}

export type ReadingTool = "nvidia-smi" | "dcgmi" | "rocm-smi";

export const nothingRead: DeviceValues = {
  busyMilli: null,
  memoryUsedMib: null,
  memoryTotalMib: null,
  temperatureC: null,
  powerMilliwatts: null,
  errorCount: null,
};

/** As many as a node may have. */
export const DEVICES_MAX = 1024;
const FAULT_CHARS_MAX = 80;
const VALUE_MAX = 1e15;

/** How the tools say that a value does not exist on this card or for this user. */
const ABSENT = /^(?:|-|\[?(?:n\/?a|not supported|not available|insufficient permissions|unknown|not active)\]?)$/i;

type ToolValue =
  | { readonly kind: "value"; readonly value: number }
  | { readonly kind: "absent" }
  | { readonly kind: "fault"; readonly text: string };

/** `[N/A]` is absent, `ERR!` and `[GPU requires reset]` are faults, `-5`, `1e9` and `12 W` are faults too: none is a plain number. */
function toolValue(text: string): ToolValue {
  const trimmed = text.trim();
  if (ABSENT.test(trimmed)) return { kind: "absent" };
  const value = /^\d{1,15}(?:\.\d{1,9})?$/.test(trimmed) ? Number(trimmed) : Number.NaN;
  if (value <= VALUE_MAX) return { kind: "value", value };
  return { kind: "fault", text: visible(trimmed) };
}

/** Without control characters, and short: the text comes from a program. */
export function visible(text: string): string {
  const plain = text.replaceAll(/[^\x20-\x7e]+/g, " ").trim();
  return plain.length > FAULT_CHARS_MAX ? `${plain.slice(0, FAULT_CHARS_MAX)}…` : plain;
}

/** How a column of a tool becomes a value. */
export interface Column {
  readonly name: keyof DeviceValues;
  /** Units of the value in one of the tool's. */
  readonly factor: number;
}

const PERCENT_MAX_MILLI = 1000;

/** The values of one card; a column without a value stays `null`, the first fault is kept. */
export function deviceReading(
  deviceIndex: number,
  cells: readonly { readonly column: Column; readonly title: string; readonly text: string }[],
): DeviceReading {
  const values: { -readonly [Name in keyof DeviceValues]: number | null } = { ...nothingRead };
  let fault: string | null = null;
  for (const { column, title, text } of cells) {
    const read = toolValue(text);
    if (read.kind === "fault") fault ??= `${title}: ${read.text}`;
    if (read.kind !== "value") continue;
    const value = Math.round(read.value * column.factor);
    if (column.name === "busyMilli" && value > PERCENT_MAX_MILLI) fault ??= `${title}: ${visible(text)}`;
    else values[column.name] ??= value;
  }
  return { deviceIndex, ...values, fault };
}
