/** `headroom calibrate`: measures this machine's accelerator with PyTorch, writes a profile and summarises it. */
import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Accelerator, Calibration, CalibrationProfile } from "@headroom/perf";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { pairLines } from "../output/table.ts";
import { jsonFile } from "./model-options.ts";
import { percentText, significant } from "./quantities.ts";

export interface CalibrateOptions {
  readonly out?: string;
  readonly python?: string;
  readonly parts?: string;
  readonly quick?: true;
  readonly cpu?: true;
  readonly accelerator?: string;
  readonly show?: string;
  readonly json?: true;
}

export async function runCalibrate(context: CommandContext, options: CalibrateOptions): Promise<ExitCode> {
  const profile =
    options.show === undefined
      ? await measuredProfile(context, options)
      : await profileOf(await jsonFile(context, options.show), options.show);
  const derived = await calibrationOf(profile, options.accelerator);
  if (options.json === true) {
    context.print(JSON.stringify({ device: profile.deviceName, ...derivedJson(derived) }, null, 2));
    return exitCode.ok;
  }
  context.print(...calibrationLines(profile, derived, context));
  return exitCode.ok;
}

type Derived =
  | { readonly accelerator: Accelerator; readonly calibration: Calibration }
  | { readonly accelerator: undefined; readonly calibration: undefined };

function parsedText(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CliError(`${what} is not JSON`);
  }
}

async function profileOf(value: unknown, what: string): Promise<CalibrationProfile> {
  const { readProfile } = await import("@headroom/perf");
  const reading = readProfile(value);
  if (reading.kind === "refused") throw new CliError(`${what}: ${reading.reason}`);
  return reading.profile;
}

async function calibrationOf(profile: CalibrationProfile, name: string | undefined): Promise<Derived> {
  const perf = await import("@headroom/perf");
  const accelerator =
    name === undefined
      ? perf.acceleratorOfDevice(profile.deviceName, perf.accelerators)
      : perf.findAccelerator(name, perf.accelerators);
  if (name !== undefined && accelerator === undefined) {
    throw new CliError(`--accelerator: the catalogue has no ${JSON.stringify(name)}`, exitCode.usage);
  }
  if (accelerator === undefined) return { accelerator: undefined, calibration: undefined };
  return { accelerator, calibration: perf.deriveCalibration(profile, accelerator) };
}

function derivedJson({ accelerator, calibration }: Derived): object {
  if (accelerator === undefined) return { accelerator: null };
  return { accelerator: accelerator.name, ...calibration };
}

function calibrationLines(profile: CalibrationProfile, derived: Derived, { paint }: CommandContext): string[] {
  const { accelerator, calibration } = derived;
  if (accelerator === undefined) {
    return [
      `${profile.deviceName} (${profile.deviceKind}) is not in the catalogue, so there is no datasheet to compare with.`,
      "Pass its name in the catalogue with --accelerator if it has another name there.",
    ];
  }
  const { training, serving, warnings } = calibration;
  const share = (value: number | undefined, peak: number | undefined, unit: string): string =>
    value === undefined || peak === undefined
      ? "not measured"
      : `${percentText(value)} of the datasheet's ${significant(peak)} ${unit}`;
  const { denseTflops, memoryGbPerS, scaleUp } = accelerator;
  return [
    ...pairLines(
      [
        ["accelerator", `${accelerator.name} (${profile.deviceName}), measured ${profile.measuredAt}`],
        ["products, 16 bits", share(training.matmulEfficiency.bf16, denseTflops.bf16, "TFLOP/s at best")],
        ["products, fp8", share(training.matmulEfficiency.fp8, denseTflops.fp8, "TFLOP/s at best")],
        ["layers, 16 bits", share(serving.matmulEfficiency, denseTflops.bf16, "TFLOP/s, median")],
        ["attention", share(training.attentionEfficiency, denseTflops.bf16, "TFLOP/s, forward and backward")],
        ["copies", share(training.memoryEfficiency, memoryGbPerS, "GB/s")],
        ["weight reads", share(serving.weightReadEfficiency, memoryGbPerS, "GB/s")],
        [
          "launch",
          training.kernelLaunchUs === undefined
            ? "not measured"
            : `${significant(training.kernelLaunchUs)} µs per kernel`,
        ],
        ["all-reduce", share(training.scaleUpEfficiency, scaleUp.gbPerS, "GB/s bus bandwidth")],
      ],
      paint,
    ),
    ...warnings.map((warning) => `${paint("yellow", "warning:")} ${warning}`),
  ];
}

async function measuredProfile(context: CommandContext, options: CalibrateOptions): Promise<CalibrationProfile> {
  const text = await measured(context, options);
  const what = "the answer of the script";
  const profile = await profileOf(parsedText(text, what), what);
  const out = options.out ?? "calibration.json";
  await writeFile(path.resolve(context.terminal.workingDirectory, out), text);
  context.note(`profile: ${out}; \`headroom size … --profile ${out}\` uses it`);
  return profile;
}

/** Runs the script. Its stderr is passed on; its result is read from stdout. */
async function measured(context: CommandContext, options: CalibrateOptions): Promise<string> {
  const script = fileURLToPath(import.meta.resolve("@headroom/perf/calibrate.py"));
  const args = [
    script,
    ...(options.parts === undefined ? [] : ["--parts", options.parts]),
    ...(options.quick === true ? ["--quick"] : []),
    ...(options.cpu === true ? ["--cpu"] : []),
  ];
  const python = options.python ?? "python3";
  const { interrupted, env, workingDirectory } = context.terminal;
  const child = spawn(python, args, {
    stdio: ["ignore", "pipe", "pipe"],
    cwd: workingDirectory,
    env: { ...process.env, ...env, PYTHONDONTWRITEBYTECODE: "1" },
    signal: interrupted,
  });
  const output: Buffer[] = [];
  const complaints: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => {
    complaints.push(chunk);
    context.terminal.stderr.write(chunk.toString("utf8"));
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  }).catch((error: unknown) => {
    if (interrupted.aborted) throw new CliError("interrupted", exitCode.interrupted);
    throw new CliError(`${python} cannot be started: ${error instanceof Error ? error.message : String(error)}`);
  });
  if (code === 0) return Buffer.concat(output).toString("utf8");
  if (Buffer.concat(complaints).includes("No module named 'torch'")) {
    throw new CliError(
      `${python} has no PyTorch. Choose a Python that has it with --python, or install it (Debian: python3-torch).`,
    );
  }
  throw new CliError(`${python} ended with ${code ?? "a signal"}; its output is above`);
}
