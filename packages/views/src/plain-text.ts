/** Amounts as text. The language is fixed, so that every machine prints the same. */

export function plural(count: number, noun: string): string {
  return `${grouped(count)} ${count === 1 ? noun : `${noun}s`}`;
}

/** Whole numbers with digits in groups of three, such as `12,288`. */
export function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** Converts thousandths of a core to text: `1 core`, `0.5 cores`, `63.25 cores`. */
export function coresText(coresMilli: number): string {
  return `${coresMilli / 1000} ${coresMilli === 1000 ? "core" : "cores"}`;
}

/** Converts MiB to the largest unit that divides the amount, or else to GiB with one decimal. */
export function memoryText(memoryMib: number): string {
  if (memoryMib < 1024) return `${memoryMib} MiB`;
  if (memoryMib % 1_048_576 === 0) return `${memoryMib / 1_048_576} TiB`;
  if (memoryMib % 1024 === 0) return `${memoryMib / 1024} GiB`;
  return `${Math.round((memoryMib * 10) / 1024) / 10} GiB`;
}

interface ResourceForm {
  readonly noun: string;
  readonly verb: "is" | "are";
  /** The amount of a resource, with the unit as its only noun. */
  readonly text: (amount: number) => string;
  /** The amount for a sentence that does not name the resource otherwise. */
  readonly quantity: (amount: number) => string;
  readonly asked: (shape: ResourceShape) => number;
}

interface ResourceShape {
  readonly coresMilli: number;
  readonly memoryMib: number;
  readonly networkGbps?: number | undefined;
}

/** Resources of a node other than accelerators, by the name that teams and verdicts use. */
const resourceForms: Readonly<Record<string, ResourceForm>> = {
  cores: {
    noun: "cores",
    verb: "are",
    text: coresText,
    quantity: coresText,
    asked: ({ coresMilli }) => coresMilli,
  },
  memory: {
    noun: "memory",
    verb: "is",
    text: memoryText,
    quantity: (amount) => `${memoryText(amount)} of memory`,
    asked: ({ memoryMib }) => memoryMib,
  },
  networkGbps: {
    noun: "network bandwidth",
    verb: "is",
    text: (amount) => `${amount} Gbps`,
    quantity: (amount) => `${amount} Gbps of network bandwidth`,
    asked: ({ networkGbps = 0 }) => networkGbps,
  },
  acceleratorMemory: {
    noun: "accelerator memory",
    verb: "is",
    text: memoryText,
    quantity: (amount) =>
      amount === 0
        ? "0 MiB of accelerator memory, because its pool states none (acceleratorMemory)"
        : `${memoryText(amount)} of memory on an accelerator`,
    // Texts that mention accelerators.
    asked: () => 0,
  },
};

export const resourceForm = (resource: string): ResourceForm | undefined => resourceForms[resource];

/** The resources that one worker needs in addition to accelerators, such as `16 cores`, `64 GiB`. */
export function resourceTexts(shape: ResourceShape, form: "text" | "quantity" = "text"): string[] {
  const asked = Object.values(resourceForms).filter((each) => each.asked(shape) > 0);
  return asked.map((each) => each[form](each.asked(shape)));
}

interface PartForm {
  /** Label of the resource in a list of terms. */
  readonly term: string;
  /** Text for narrow columns, which replaces a number of accelerators. */
  readonly short: string;
  /** For sentences; `one`: `an accelerator`, `one H100 accelerator`. */
  readonly of: (one: string) => string;
}

interface PartShape {
  readonly shareMilli?: number | undefined;
  readonly acceleratorMemoryMib?: number | undefined;
  readonly profile?: string | undefined;
}

/** The part of one accelerator that a worker needs; `null`: whole accelerators, or none. */
export function partForm({ shareMilli, acceleratorMemoryMib, profile }: PartShape): PartForm | null {
  if (profile !== undefined) return { term: "Profile", short: profile, of: (one) => `a ${profile} slice of ${one}` };
  if (acceleratorMemoryMib !== undefined) {
    const memory = memoryText(acceleratorMemoryMib);
    return { term: "Accelerator memory", short: memory, of: (one) => `${memory} of the memory of ${one}` };
  }
  if (shareMilli === undefined) return null;
  const share = `${shareMilli / 1000}`;
  return { term: "Share", short: share, of: (one) => `${share} of ${one}` };
}

const units = [
  { ms: 86_400_000, name: "d" },
  { ms: 3_600_000, name: "h" },
  { ms: 60_000, name: "min" },
  { ms: 1_000, name: "s" },
] as const;

/** A duration in its two largest units, such as `2 h 5 min`, `40 s`, `250 ms`. */
export function durationText(durationMs: number): string {
  if (durationMs < 1_000) return `${durationMs} ms`;
  const first = units.findIndex(({ ms }) => durationMs >= ms);
  const large = units[first];
  if (large === undefined) return `${durationMs} ms`;
  const text = `${Math.floor(durationMs / large.ms)} ${large.name}`;
  const small = units[first + 1];
  const rest = small === undefined ? 0 : Math.floor((durationMs % large.ms) / small.ms);
  return small === undefined || rest === 0 ? text : `${text} ${rest} ${small.name}`;
}

/**
 * Accelerator time in the largest unit in which it is at least one: `1,204.5 accelerator hours`, `1.1 accelerator
 * minutes`.
 */
export function acceleratorTimeText(acceleratorMs: number): string {
  const [unitMs, unit] =
    acceleratorMs >= 3_600_000 || acceleratorMs === 0
      ? [3_600_000, "hours"]
      : acceleratorMs >= 60_000
        ? [60_000, "minutes"]
        : [1_000, "seconds"];
  const tenths = Math.round((acceleratorMs * 10) / unitMs);
  return `${grouped(acceleratorMs === 0 ? 0 : Math.max(1, tenths) / 10)} accelerator ${unit}`;
}

/** Hours to three digits, so that work of seconds is not shown as 0. */
export const hoursText = (hours: number): string =>
  hours === 0 ? "0" : hours < 0.001 ? "<0.001" : hours.toFixed(hours < 10 ? 3 : 1);

/** Accepted types such as `H200` or `H200 or H100`; without a preference, the word accelerator. */
export function acceleratorNoun(types: readonly string[], count: number): string {
  const noun = count === 1 ? "accelerator" : "accelerators";
  const named = types.filter((type) => type !== "");
  return named.length === 0 ? noun : `${named.join(" or ")} ${noun}`;
}

/** Metrics can have any size, so they get four significant digits, with thousands grouped. */
export function metricText(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const magnitude = Math.abs(value);
  if (magnitude >= 1000) return grouped(Math.round(value));
  if (magnitude === 0 || magnitude >= 0.001) return String(Number(value.toPrecision(4)));
  return value.toExponential(2);
}

/** Power such as `700 W`, `2.8 kW` or `1.25 MW`. */
export function wattsText(watts: number): string {
  if (Math.abs(watts) < 1_000) return `${watts} W`;
  const [amount, unit] = Math.abs(watts) < 1_000_000 ? [watts / 1_000, "kW"] : [watts / 1_000_000, "MW"];
  return `${Number(amount.toFixed(2))} ${unit}`;
}
