/**
 * Parses the output of the vendors' tools into this machine's accelerators. Parsing is separate from running the tools,
 * so that it can be tested.
 */
import { execFile } from "node:child_process";
import { canonicalType, deviceLabel } from "@headroom/perf/accelerator-types";
import { z } from "zod";

export interface FoundAccelerator {
  readonly vendor: "nvidia" | "amd";
  /** Index of the device in the vendor's tools on this machine. */
  readonly deviceIndex: number;
  /** Name in the catalogue of accelerator types, e.g. `H200-SXM`. */
  readonly type: string;
  /**
   * Name that the device reports, as one word, for names of pools and nodes. It does not change when the catalogue adds
   * the device.
   */
  readonly label: string;
}

/**
 * Time limit in ms for a tool. Loading a driver takes seconds, but a driver that hangs must not block the start
 * forever.
 */
const TOOL_TIMEOUT_MS = 20_000;

export async function findAccelerators(): Promise<readonly FoundAccelerator[]> {
  const nvidia = await runTool("nvidia-smi", ["--query-gpu=index,name", "--format=csv,noheader,nounits"]);
  if (nvidia !== null) {
    const found = parseNvidiaSmi(nvidia);
    if (found.length > 0) return found;
  }
  const rocm = await runTool("rocm-smi", ["--showproductname", "--json"]);
  return rocm === null ? [] : parseRocmSmi(rocm);
}

/**
 * Output of the tool; `null` if the tool is not installed or finds no driver: the machine then has no accelerators of
 * that vendor.
 */
function runTool(command: string, args: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(command, args, { timeout: TOOL_TIMEOUT_MS }, (error, stdout) => resolve(error === null ? stdout : null));
  });
}

/** Lines of `0, NVIDIA H200`. */
export function parseNvidiaSmi(text: string): FoundAccelerator[] {
  const found: FoundAccelerator[] = [];
  for (const line of text.split("\n")) {
    const match = /^\s*(\d+)\s*,\s*(.+?)\s*$/.exec(line);
    if (match?.[1] === undefined || match[2] === undefined) continue;
    found.push({ vendor: "nvidia", deviceIndex: Number(match[1]), ...namesOf(match[2]) });
  }
  return found;
}

const rocmAnswer = z.record(z.string(), z.record(z.string(), z.unknown()));
/** Releases of rocm-smi use different capitals in names. */
const ROCM_NAME_FIELDS = ["card series", "card model", "device name"];

/** `{"card0": {"Card Series": "AMD Instinct MI300X", …}, …}`. */
export function parseRocmSmi(text: string): FoundAccelerator[] {
  const parsed = rocmAnswer.safeParse(jsonOf(text));
  if (!parsed.success) return [];
  const found: FoundAccelerator[] = [];
  for (const [key, fields] of Object.entries(parsed.data)) {
    const index = /^card(\d+)$/.exec(key)?.[1];
    if (index === undefined) continue;
    const byName = new Map(Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]));
    const name = ROCM_NAME_FIELDS.map((field) => byName.get(field)).find(isProductName);
    found.push({ vendor: "amd", deviceIndex: Number(index), ...namesOf(name ?? "amd") });
  }
  return found.toSorted((a, b) => a.deviceIndex - b.deviceIndex);
}

/** For a device without a known name, rocm-smi prints the PCI number. */
function isProductName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value !== "N/A" && !value.startsWith("0x");
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const namesOf = (name: string): Pick<FoundAccelerator, "type" | "label"> => ({
  type: canonicalType(name),
  label: deviceLabel(name),
});
