/**
 * Readings of an accelerator at one time, from the vendor's tool. This folder runs `nvidia-smi`, `dcgmi` and `rocm-smi`
 * with fixed arguments and parses their output. It must not know nodes or attempts. Start with `read-devices.ts`.
 */

/**
 * Values of an accelerator. `null`: the tool does not report the value, for example the utilization of a card that MIG
 * divides.
 */
export interface DeviceValues {
  /** Share of the last sampling period in which the card was busy, in thousandths. */
  readonly busyMilli: number | null;
  readonly memoryUsedMib: number | null;
  readonly memoryTotalMib: number | null;
  readonly temperatureC: number | null;
  readonly powerMilliwatts: number | null;
  /** Number of uncorrected memory errors since the driver was loaded. */
  readonly errorCount: number | null;
}

export interface DeviceReading extends DeviceValues {
  /** The vendor's own index of the accelerator on this machine. */
  readonly deviceIndex: number;
  /** The error that the tool reports instead of a value. */
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

/** Maximum number of accelerators, that of a node. */
export const DEVICES_MAX = 1024;
const FAULT_CHARS_MAX = 80;
const VALUE_MAX = 1e15;

/** Texts with which the tools say that a value does not exist on this card or for this user. */
const ABSENT = /^(?:|-|\[?(?:n\/?a|not supported|not available|insufficient permissions|unknown|not active)\]?)$/i;

type ToolValue =
  | { readonly kind: "value"; readonly value: number }
  | { readonly kind: "absent" }
  | { readonly kind: "fault"; readonly text: string };

/**
 * `[N/A]` means that the value is absent. `ERR!` and `[GPU requires reset]` are faults. `-5`, `1e9` and `12 W` are also
 * faults, because they are not plain numbers.
 */
function toolValue(text: string): ToolValue {
  const trimmed = text.trim();
  if (ABSENT.test(trimmed)) return { kind: "absent" };
  const value = /^\d{1,15}(?:\.\d{1,9})?$/.test(trimmed) ? Number(trimmed) : Number.NaN;
  if (value <= VALUE_MAX) return { kind: "value", value };
  return { kind: "fault", text: visible(trimmed) };
}

/** The text without control characters, and shortened, because it comes from another program. */
export function visible(text: string): string {
  const plain = text.replaceAll(/[^\x20-\x7e]+/g, " ").trim();
  return plain.length > FAULT_CHARS_MAX ? `${plain.slice(0, FAULT_CHARS_MAX)}…` : plain;
}

/** How a column in the output of a tool becomes a value. */
export interface Column {
  readonly name: keyof DeviceValues;
  /** Number of units of the value in one unit of the tool. */
  readonly factor: number;
}

const PERCENT_MAX_MILLI = 1000;

/** The values of one card. A column without a value stays `null`; the first fault is kept. */
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
