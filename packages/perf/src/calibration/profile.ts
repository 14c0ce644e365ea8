/** Output of `assets/calibrate.py`, format version 1. Rates are in TFLOP/s and GB/s, times in seconds. */
export interface CalibrationProfile {
  readonly measuredAt: string;
  /** The driver's name of the device, for example "NVIDIA H200". */
  readonly deviceName: string;
  readonly deviceKind: string;
  readonly matmul: readonly MatmulRow[];
  readonly attention: readonly AttentionRow[];
  readonly memory: readonly MemoryRow[];
  readonly collectives: readonly CollectiveRow[];
  /**
   * Time between launches of a small kernel in eager mode, in microseconds. It is `undefined` if the launches were not
   * measured.
   */
  readonly queuedLaunchUs: number | undefined;
  readonly hostLinkGbPerS: number | undefined;
}

export interface MatmulRow {
  readonly dtype: string;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly seconds: number;
}

export interface AttentionRow {
  readonly direction: string;
  readonly sequence: number;
  readonly headDim: number;
  readonly tflops: number;
}

export interface MemoryRow {
  readonly operation: string;
  readonly bytes: number;
  readonly gbPerSecond: number;
}

export interface CollectiveRow {
  readonly collective: string;
  readonly ranks: number;
  readonly bytes: number;
  readonly busGbPerSecond: number;
}

export type ProfileReading =
  | { readonly kind: "profile"; readonly profile: CalibrationProfile }
  | { readonly kind: "refused"; readonly reason: string };

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads a profile from parsed JSON. Parts without measurements are empty lists. One damaged part makes the whole
 * profile invalid.
 */
export function readProfile(value: unknown): ProfileReading {
  if (!isFields(value) || value["kind"] !== "calibration-profile") {
    return { kind: "refused", reason: "not a calibration profile: `kind` must be calibration-profile" };
  }
  if (value["formatVersion"] !== 1) {
    return {
      kind: "refused",
      reason: `calibration format ${String(value["formatVersion"])} is not known; measure again`,
    };
  }
  const accelerator = value["accelerator"];
  const name = isFields(accelerator) ? accelerator["name"] : undefined;
  if (typeof name !== "string" || name === "") return { kind: "refused", reason: "the profile names no accelerator" };
  const reader = rowReader(value);
  const host = reader.rows("host", ["direction"], ["gbPerSecond"]);
  const profile: CalibrationProfile = {
    measuredAt: typeof value["measuredAt"] === "string" ? value["measuredAt"] : "",
    deviceName: name,
    deviceKind: isFields(accelerator) && typeof accelerator["kind"] === "string" ? accelerator["kind"] : "",
    matmul: reader.rows("matmul", ["dtype"], ["m", "n", "k", "seconds"]),
    attention: reader.rows("attention", ["direction"], ["sequence", "headDim", "tflops"]),
    memory: reader.rows("memory", ["operation"], ["bytes", "gbPerSecond"]),
    collectives: reader.rows("collectives", ["collective"], ["ranks", "bytes", "busGbPerSecond"]),
    queuedLaunchUs: positive(value["launch"], "queuedUs"),
    hostLinkGbPerS: host.length === 0 ? undefined : Math.min(...host.map((row) => row.gbPerSecond)),
  };
  return reader.fault() === undefined
    ? { kind: "profile", profile }
    : { kind: "refused", reason: reader.fault() ?? "" };
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function positive(value: unknown, key: string): number | undefined {
  const found = isFields(value) ? value[key] : undefined;
  return typeof found === "number" && found > 0 && Number.isFinite(found) ? found : undefined;
}

interface RowReader {
  rows<Text extends string, Amount extends string>(
    part: string,
    texts: readonly Text[],
    amounts: readonly Amount[],
  ): (Record<Text, string> & Record<Amount, number>)[];
  fault(): string | undefined;
}

function rowReader(value: Fields): RowReader {
  let fault: string | undefined;
  return {
    rows(part, texts, amounts) {
      const list = value[part] ?? [];
      if (!Array.isArray(list)) {
        fault ??= `${part} is not a list`;
        return [];
      }
      return list.map((row: unknown, index) => {
        const good =
          isFields(row) &&
          texts.every((key) => typeof row[key] === "string") &&
          amounts.every((key) => positive(row, key) !== undefined);
        if (!good) fault ??= `${part} row ${index + 1} lacks a positive ${[...texts, ...amounts].join(", ")}`;
        return row as never;
      });
    },
    fault: () => fault,
  };
}
