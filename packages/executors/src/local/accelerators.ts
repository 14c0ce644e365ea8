/** Parses the vendors' descriptions of this machine's accelerators. Parsing is apart from running, so that it can be tested. */
import { execFile } from "node:child_process";
import { canonicalType, deviceLabel } from "@headroom/perf/accelerator-types";
import { z } from "zod";

export interface FoundAccelerator {
  readonly vendor: "nvidia" | "amd";
  /** The vendor's own number on this machine. */
  readonly deviceIndex: number;
  /** By its name in the catalogue of accelerator types, e.g. `H200-SXM`. */
  readonly type: string;
  /** The device's own name as one word, for names of pools and nodes: it stays when the catalogue learns the device. */
  readonly label: string;
}

/** A driver that is being loaded takes seconds; one that hangs must not hold up the start for ever. */
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

/** `null` where the tool is not there or finds no driver: then there are no accelerators of its vendor. */
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
/** Releases of rocm-smi differ in the capitals. */
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

/** Where it does not know the name, rocm-smi prints the PCI number. */
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
