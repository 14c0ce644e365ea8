/** Reads jobs from a trace source such as `itp:FILE`. */
import { closeSync, openSync, readSync } from "node:fs";
import path from "node:path";
import { StringDecoder } from "node:string_decoder";
import type { GangShare, ImportReport, Trace, TraceImport, TraceLines } from "@headroom/sim";
import { CliError, exitCode } from "../cli-error.ts";
import { printable } from "../terminal.ts";
import { decimal, settings, wholeNumber } from "./amount-options.ts";

type TraceModule = typeof import("@headroom/sim");

export interface TraceRequest {
  readonly sim: TraceModule;
  readonly name: string;
  readonly workingDirectory: string;
  /** Accelerators of the pool or the fleet; `undefined`: the trace states its own fleet. */
  readonly gpus: number | undefined;
  readonly seed: number;
  readonly skipBroken: boolean;
  /** Whether only the requests are needed, without submission times and durations. */
  readonly timeless: boolean;
}

export interface LoadedTrace {
  readonly trace: Trace;
  /** The time window that was read; `null`: none was given. */
  readonly report: ImportReport | null;
}

const formats = "itp:FILE, openb:NODES,PODS, swf:FILE, sacct:FILE or generated:jobs=N,load=L";

export function loadTrace(request: TraceRequest): LoadedTrace {
  const colon = request.name.indexOf(":");
  const format = request.name.slice(0, Math.max(0, colon));
  const rest = request.name.slice(colon + 1);
  if (rest === "" || !["itp", "openb", "swf", "sacct", "generated"].includes(format)) {
    throw new CliError(`--trace: expected ${formats}, got ${JSON.stringify(request.name)}`, exitCode.usage);
  }
  if (request.timeless && format !== "openb") {
    throw new CliError("--demand draws from an openb trace: --trace openb:NODES,PODS", exitCode.usage);
  }
  if (format === "generated") return { trace: generated(request, rest), report: null };
  const imported = importFiles(request, format, rest);
  if (imported.kind === "refused") throw new CliError(refusal(request.name, imported));
  return imported;
}

function importFiles(request: TraceRequest, format: string, rest: string): TraceImport {
  const { sim } = request;
  const options = { skipBroken: request.skipBroken };
  const open = (file: string): TraceLines => ({
    file: printable(file),
    lines: linesOf(path.resolve(request.workingDirectory, file), file),
  });
  switch (format) {
    case "itp":
      return sim.importItp(open(rest), options);
    case "swf":
      return sim.importSwf(open(rest), options);
    case "sacct":
      return sim.importSacct(open(rest), options);
    default: {
      const files = rest.split(",");
      const [nodes, pods] = files;
      if (nodes === undefined || pods === undefined || files.length !== 2) {
        throw new CliError(`--trace: expected openb:NODES,PODS, got ${JSON.stringify(request.name)}`, exitCode.usage);
      }
      const sources = { nodes: open(nodes), pods: open(pods) };
      return request.timeless ? sim.importOpenbDemand(sources, options) : sim.importOpenb(sources, options);
    }
  }
}

function refusal(name: string, { reason, report }: TraceImport & { readonly kind: "refused" }): string {
  const lines = [`${printable(name)}: ${printable(reason)}; nothing was simulated.`];
  for (const { file, line, message } of report.problems) lines.push(`  ${file}:${line}: ${printable(message)}`);
  const unshown = report.brokenCount - report.problems.length;
  if (unshown > 0) lines.push(`  and ${unshown} more`);
  if (report.brokenCount > 0 || Object.keys(report.leftOut).length > 0) {
    lines.push("With --skip-broken, broken rows are left out and counted.");
  }
  return lines.join("\n");
}

const chunkBytes = 1 << 20;
/**
 * Maximum length of a line, far above that of any format, so that a file without line ends is not read into memory as
 * one line.
 */
const lineLengthMax = 1 << 20;

/** Lines of a file, read in chunks, so that memory does not grow with the trace. */
export function* linesOf(file: string, shown: string): Generator<string> {
  const descriptor = opened(file, shown);
  try {
    const decoder = new StringDecoder("utf8");
    const chunk = Buffer.alloc(chunkBytes);
    let rest = "";
    let line = 0;
    for (;;) {
      const length = readSync(descriptor, chunk, 0, chunkBytes, null);
      const lines = (rest + (length === 0 ? decoder.end() : decoder.write(chunk.subarray(0, length)))).split("\n");
      rest = length === 0 ? "" : (lines.pop() ?? "");
      yield* lines;
      line += lines.length;
      if (rest.length > lineLengthMax) {
        throw new CliError(
          `${printable(shown)}:${line + 1}: the line has more than ${lineLengthMax} characters, so the file is not a trace`,
        );
      }
      if (length === 0) return;
    }
  } finally {
    closeSync(descriptor);
  }
}

function opened(file: string, shown: string): number {
  try {
    const descriptor = openSync(file, "r");
    // Reads one byte before the importer runs. This fails for a directory.
    readSync(descriptor, Buffer.alloc(1), 0, 1, 0);
    return descriptor;
  } catch (cause) {
    const { code } = cause as { readonly code?: string };
    const why =
      code === "ENOENT"
        ? "there is no such file"
        : code === "EISDIR"
          ? "this is a directory"
          : `cannot be read (${code})`;
    throw new CliError(`${printable(shown)}: ${why}`);
  }
}

const jobsMax = 10_000_000;

function generated({ sim, gpus, seed }: TraceRequest, text: string): Trace {
  const what = "--trace generated";
  const given = settings(text, what, ["jobs", "load", "seed", "duration", "gangs"]);
  if (gpus === undefined)
    throw new CliError("--gpus or --fleet is needed: a generated trace is made for a fleet", exitCode.usage);
  const [durationMinS, durationMaxS] = durations(given.get("duration"), sim);
  return sim.generateTrace({
    seed: given.has("seed") ? wholeNumber(given.get("seed") ?? "", `${what}: seed`, seedBounds) : seed,
    jobs: wholeNumber(given.get("jobs") ?? "", `${what}: jobs`, { min: 1, max: jobsMax }),
    load: decimal(given.get("load") ?? "1", `${what}: load`, { min: 0.001, max: 1000 }),
    accelerators: gpus,
    gangs: gangs(given.get("gangs"), { sim, gpus }),
    durationMinS,
    durationMaxS,
  });
}

/** Seeds are unsigned 32-bit numbers, as `draw` takes them. */
export const seedBounds = { min: 0, max: 4_294_967_295 };

function durations(text: string | undefined, sim: TraceModule): [number, number] {
  if (text === undefined) return [sim.usualDurations.durationMinS, sim.usualDurations.durationMaxS];
  const [low = "", high = ""] = text.split("..");
  const bounds = { min: 1, max: 2_000_000 };
  const min = wholeNumber(low, "--trace generated: duration", bounds);
  return [min, wholeNumber(high, "--trace generated: duration", { min, max: bounds.max })];
}

/** Sizes of gangs. Default sizes are limited by the pool; a stated size above the pool is rejected. */
function gangs(
  text: string | undefined,
  { sim, gpus }: { readonly sim: TraceModule; readonly gpus: number },
): readonly GangShare[] {
  if (text === undefined) return sim.usualGangs;
  return text.split("+").map((share) => {
    const [size = "", weight = "1"] = share.split("*");
    const accelerators = wholeNumber(size, "--trace generated: gangs, size", { min: 1, max: 1_000_000 });
    if (accelerators > gpus)
      throw new CliError(
        `--trace generated: gangs: a gang of ${accelerators} does not fit into ${gpus} accelerators`,
        exitCode.usage,
      );
    return {
      accelerators,
      weight: wholeNumber(weight, "--trace generated: gangs, weight", { min: 1, max: 10_000 }),
    };
  });
}
