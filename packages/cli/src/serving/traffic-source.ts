/** Reads requests from a traffic source such as `azure:FILE`. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import type { ImportReport, RequestImport, RequestTrace, TraceLines } from "@headroom/sim";
import { CliError, exitCode } from "../cli-error.ts";
import { linesOf } from "../simulate/trace-source.ts";
import { printable } from "../terminal.ts";

type Sim = typeof import("@headroom/sim");

const formats = ["azure", "mooncake", "vllm", "gateway", "genai"] as const;

/** Maximum unpacked size of a compressed file in bytes. */
const unpackedBytesMax = 1 << 30;

export interface LoadedTraffic {
  readonly trace: RequestTrace;
  readonly report: ImportReport;
}

function unpackedLines(file: string, shown: string): string[] {
  try {
    return gunzipSync(readFileSync(file), { maxOutputLength: unpackedBytesMax }).toString("utf8").split("\n");
  } catch (error) {
    throw new CliError(`${printable(shown)}: ${error instanceof Error ? error.message : "cannot be unpacked"}`);
  }
}

function imported(sim: Sim, format: (typeof formats)[number], source: TraceLines, skipBroken: boolean): RequestImport {
  const options = { skipBroken };
  switch (format) {
    case "azure":
      return sim.importAzure(source, options);
    case "mooncake":
      return sim.importMooncake(source, options);
    case "vllm":
      return sim.importVllmRun(source, options);
    case "gateway":
      return sim.importGatewayLog(source, options);
    case "genai":
      return sim.importGenai(source, options);
  }
}

/** Reads FORMAT:FILE; a file whose name ends in .gz is unpacked. */
export function loadTraffic(
  sim: Sim,
  name: string,
  { workingDirectory, skipBroken }: { readonly workingDirectory: string; readonly skipBroken: boolean },
): LoadedTraffic {
  const colon = name.indexOf(":");
  const format = formats.find((one) => one === name.slice(0, Math.max(0, colon)));
  const shown = name.slice(colon + 1);
  if (format === undefined || shown === "") {
    const expected = formats.map((one) => `${one}:FILE`).join(", ");
    throw new CliError(`--serving: expected ${expected}, got ${JSON.stringify(name)}`, exitCode.usage);
  }
  const file = path.resolve(workingDirectory, shown);
  const lines = shown.endsWith(".gz") ? unpackedLines(file, shown) : linesOf(file, shown);
  const result = imported(sim, format, { file: printable(shown), lines }, skipBroken);
  if (result.kind === "imported") return result;
  const where = result.report.problems.map(({ file: at, line, message }) => `  ${at}:${line}: ${message}`);
  const hint = where.length > 0 ? ["  Pass --skip-broken to leave broken rows out"] : [];
  throw new CliError([`${printable(shown)}: ${result.reason}`, ...where, ...hint].join("\n"));
}
