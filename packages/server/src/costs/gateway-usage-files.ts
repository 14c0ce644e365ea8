/** Reads the usage files of gateways whose state is in the state directory (docs/reference/gateway.md describes the files). */
import { closeSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import path from "node:path";
import { StringDecoder } from "node:string_decoder";
import { gatewayRecord } from "@headroom/usage";
import type { GatewayUsage } from "@headroom/usage";

const DAY_MS = 24 * 3_600_000;
const READ_BYTES = 1_048_576;
/** A line is a few hundred bytes. */
const LINE_CHARS_MAX = 1_048_576;
const SEGMENT = /^usage-(\d{16})-(\d{8})\.jsonl$/;

/**
 * Adds the records of all gateways below `folder`. Files that were last written before the day of `sinceMs` are not read. Returns what
 * could not be read.
 */
export function readGatewayUsage(folder: string, sinceMs: number, usage: GatewayUsage): readonly string[] {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  const problems: string[] = [];
  // A link to the folder of a gateway would count its records twice.
  const gateways = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const { name: gateway } of gateways.toSorted((left, right) => (left.name < right.name ? -1 : 1))) {
    const directory = path.join(folder, gateway, "usage");
    if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) continue;
    let process: string | undefined;
    for (const { name, life } of segmentsOf(directory)) {
      if (process !== undefined && process !== life) usage.endProcess();
      process = life;
      const problem = readRecent(path.join(directory, name), sinceMs, usage);
      if (problem !== null) problems.push(`gateway/${gateway}/usage/${name}: ${problem}`);
    }
    usage.leaveOpen();
  }
  return problems;
}

/** Reads a file that was written since the day before `sinceMs`. `null`: there is no problem. A file that was removed has no records. */
function readRecent(file: string, sinceMs: number, usage: GatewayUsage): string | null {
  try {
    const { mtimeMs = 0 } = statSync(file, { throwIfNoEntry: false }) ?? {};
    const badCount = mtimeMs < sinceMs - DAY_MS ? 0 : readSegment(file, usage);
    return badCount === 0 ? null : `${badCount} lines are no usage records`;
  } catch (error) {
    return `cannot be read: ${(error as NodeJS.ErrnoException).code ?? "failed"}`;
  }
}

const segmentsOf = (directory: string): readonly { readonly name: string; readonly life: string }[] =>
  readdirSync(directory)
    .flatMap((name) => {
      const [, first = "", life = ""] = SEGMENT.exec(name) ?? [];
      return life === "" ? [] : [{ name, life, order: `${life}-${first}` }];
    })
    .toSorted((left, right) => (left.order < right.order ? -1 : 1));

/** Returns the number of lines that are no records. A last line without an end is still being written. */
function readSegment(file: string, usage: GatewayUsage): number {
  const decoder = new StringDecoder("utf8");
  const buffer = Buffer.alloc(READ_BYTES);
  const fd = openSync(file, "r");
  let badCount = 0;
  let pending = "";
  try {
    for (let count = readSync(fd, buffer); count > 0; count = readSync(fd, buffer)) {
      const lines = (pending + decoder.write(buffer.subarray(0, count))).split("\n");
      pending = (lines.pop() ?? "").slice(0, LINE_CHARS_MAX);
      for (const line of lines) {
        const record = gatewayRecord.safeParse(jsonOf(line));
        if (record.success) usage.add(record.data);
        else badCount++;
      }
    }
  } finally {
    closeSync(fd);
  }
  return badCount;
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
