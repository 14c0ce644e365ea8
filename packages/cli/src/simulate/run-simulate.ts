/** `headroom simulate`: loads a trace, runs it under one or several policies, and prints a report. */
import { constants } from "node:fs";
import { access, writeFile } from "node:fs/promises";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Policy, Team } from "@headroom/model";
import type { FaultOptions, FleetSpec, SimulationResult, Trace, TraceInputs, TraceWalltimes } from "@headroom/sim";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { namedPolicy } from "../documents/policy-file.ts";
import type { Terminal } from "../terminal.ts";
import { decimal, duration, wholeNumber } from "./amount-options.ts";
import type { DeclaredDocuments } from "./declared-documents.ts";
import { faultsOf } from "./fault-options.ts";
import { inputsOf } from "./input-options.ts";
import { ProgressLine } from "./progress-line.ts";
import { reportPage } from "./report-page.ts";
import { resultLines } from "./result-text.ts";
import { demandLines, runDemand } from "./run-demand.ts";
import type { SharedReport, SharedRun } from "./run-shared.ts";
import { loadTrace, seedBounds, type LoadedTrace } from "./trace-source.ts";

export interface SimulateOptions {
  readonly trace?: string;
  readonly gpus?: string;
  readonly fleet?: readonly string[];
  readonly endpoint?: readonly string[];
  readonly policy?: string;
  readonly seed?: string;
  readonly demand?: string;
  readonly seeds?: string;
  readonly faults?: string;
  readonly lose?: readonly string[];
  readonly inputs?: string;
  readonly startup?: string;
  readonly walltimes?: string;
  readonly skipBroken?: true;
  readonly html?: string;
  readonly json?: true;
}

/** JSON output for one policy (for several policies, a list of these). `SimulationResult` explains its fields. */
export interface SimulationReport extends SimulationResult {
  readonly trace: string;
  readonly seed: number;
  readonly broken_rows: number;
  readonly left_out: Readonly<Record<string, number>>;
  readonly wall_s: number;
  readonly events_per_s: number;
}

/** Maximum size of a pool: results of larger pools without topology are not realistic. */
const gpusMax = 100_000;
/** Number of rounds between two checks of the clock and of Ctrl-C: a few hundredths of a second of work. */
const roundsPerTurn = 10_000;

export async function runSimulate(context: CommandContext, options: SimulateOptions): Promise<ExitCode> {
  const { terminal } = context;
  const { presets } = await import("@headroom/model");
  const sim = await import("@headroom/sim");
  if (options.trace === undefined) throw new CliError("--trace says what work to simulate", exitCode.usage);
  if (options.endpoint !== undefined) refuseUnshared(options);
  if (options.demand !== undefined) return simulateDemand(context, { ...options, trace: options.trace });
  if (options.seeds !== undefined) throw new CliError("--seeds goes with --demand", exitCode.usage);
  const gpus = options.gpus === undefined ? undefined : wholeNumber(options.gpus, "--gpus", { min: 1, max: gpusMax });
  if (gpus !== undefined && options.fleet !== undefined)
    throw new CliError("--gpus and --fleet both say on what to run: give one of them", exitCode.usage);
  const seed = options.seed === undefined ? 1 : wholeNumber(options.seed, "--seed", seedBounds);
  const startupMs = options.startup === undefined ? 0 : duration(options.startup, "--startup");
  const inputs = inputsOf(options.inputs, seed);
  const walltimes = walltimesOf(options.walltimes ?? "actual");
  const policies = await chosenPolicies(options.policy ?? "default", presets, terminal);
  const page = options.html === undefined ? undefined : path.resolve(terminal.workingDirectory, options.html);
  if (page !== undefined) await checkWritable(page, options.html ?? "");
  const skipBroken = options.skipBroken === true;
  const { workingDirectory } = terminal;
  const declared = options.fleet === undefined ? null : await declaredOf(options.fleet, terminal);
  const size = declared === null ? gpus : acceleratorsOf(declared.fleet);
  const request = { sim, name: options.trace, workingDirectory, gpus: size, seed, skipBroken, timeless: false };
  const loaded = loadTrace(request);
  const { fleet, trace } = whereToRun(sim, { loaded, gpus, declared });
  if (options.endpoint !== undefined)
    return simulateShared(context, options, { fleet, trace, policies, endpoints: options.endpoint, skipBroken });
  const faults = await faultsOf({ faults: options.faults, lose: options.lose, seed, fleet });
  const progress = new ProgressLine(terminal.stderr);
  const reports: SimulationReport[] = [];
  for (const policy of policies) {
    const run = { trace, fleet, policy, faults, startupMs, walltimes, ...(inputs === undefined ? {} : { inputs }) };
    const measured = await measure(context, progress, declared === null ? run : { ...run, teams: declared.teams });
    reports.push({ trace: options.trace, seed, ...countsOf(loaded, trace), ...measured });
  }
  progress.clear();
  if (page !== undefined) await writeFile(page, reportPage(reports));
  if (options.json === true) context.print(JSON.stringify(reports.length === 1 ? reports[0] : reports, null, 2));
  else context.print(...resultLines(reports, terminal.stdout, context.paint));
  if (page !== undefined && options.json !== true) context.note(`report: ${options.html ?? ""}`);
  return exitCode.ok;
}

/** Options without an effect beside endpoints. */
const unsharedOptions = ["demand", "faults", "lose", "inputs", "startup", "walltimes", "html"] as const;

function refuseUnshared(options: SimulateOptions): void {
  const misplaced = unsharedOptions.find((name) => options[name] !== undefined);
  if (misplaced !== undefined) throw new CliError(`--${misplaced} does not go with --endpoint`, exitCode.usage);
}

async function simulateShared(
  context: CommandContext,
  options: SimulateOptions,
  { policies, ...run }: Omit<SharedRun, "policy"> & { readonly policies: readonly Policy[] },
): Promise<ExitCode> {
  const { runShared, sharedLines } = await import("./run-shared.ts");
  const reports: SharedReport[] = [];
  for (const policy of policies) reports.push(await runShared(context, { ...run, policy }));
  if (options.json === true) context.print(JSON.stringify(reports.length === 1 ? reports[0] : reports, null, 2));
  else context.print(...sharedLines(context, reports));
  return exitCode.ok;
}

async function declaredOf(files: readonly string[], terminal: Terminal): Promise<DeclaredDocuments> {
  const { declaredDocuments } = await import("./declared-documents.ts");
  return declaredDocuments(files, terminal);
}

const acceleratorsOf = ({ nodes }: FleetSpec): number =>
  nodes.reduce((sum, { acceleratorCount }) => sum + acceleratorCount, 0);

interface Given {
  readonly loaded: LoadedTrace;
  readonly gpus: number | undefined;
  readonly declared: DeclaredDocuments | null;
}

/**
 * A pool without topology has only a number of accelerators; on declared nodes, work larger than a node becomes a gang.
 */
function whereToRun(
  sim: typeof import("@headroom/sim"),
  { loaded, gpus, declared }: Given,
): { readonly fleet: FleetSpec; readonly trace: Trace } {
  if (declared !== null) return { fleet: declared.fleet, trace: sim.spreadOverNodes(loaded.trace, declared.fleet) };
  if (gpus !== undefined) return { fleet: sim.topologyFreePool(gpus), trace: sim.withoutPlacementNeeds(loaded.trace) };
  const { fleet } = loaded.trace;
  if (fleet === null)
    throw new CliError("--gpus or --fleet is needed: the trace does not say what it ran on", exitCode.usage);
  return { fleet, trace: loaded.trace };
}

/** Options without an effect if the work has no times. */
const timedOptions = ["gpus", "fleet", "faults", "lose", "inputs", "startup", "walltimes", "html"] as const;
const demandBounds = { min: 0.001, max: 100 };
const seedsMax = 1000;

async function simulateDemand(
  context: CommandContext,
  options: SimulateOptions & { readonly trace: string },
): Promise<ExitCode> {
  const misplaced = timedOptions.find((name) => options[name] !== undefined);
  if (misplaced !== undefined) throw new CliError(`--${misplaced} does not go with --demand`, exitCode.usage);
  const demandMilli = Math.round(decimal(options.demand ?? "", "--demand", demandBounds) * 1000);
  const seed = options.seed === undefined ? 1 : wholeNumber(options.seed, "--seed", seedBounds);
  const count = options.seeds === undefined ? 1 : wholeNumber(options.seeds, "--seeds", { min: 1, max: seedsMax });
  const { presets } = await import("@headroom/model");
  const policies = await chosenPolicies(options.policy ?? "default", presets, context.terminal);
  const loaded = loadTrace({
    sim: await import("@headroom/sim"),
    name: options.trace,
    workingDirectory: context.terminal.workingDirectory,
    gpus: undefined,
    seed,
    skipBroken: options.skipBroken === true,
    timeless: true,
  });
  const seeds = Array.from({ length: count }, (_, index) => seed + index);
  const reports = await runDemand(context, { name: options.trace, loaded, policies, demandMilli, seeds });
  if (options.json === true) context.print(JSON.stringify(reports.length === 1 ? reports[0] : reports, null, 2));
  else context.print(...demandLines(context, reports));
  return exitCode.ok;
}

function walltimesOf(text: string): TraceWalltimes {
  if (text === "actual" || text === "stated") return { kind: text };
  if (!text.endsWith("x"))
    throw new CliError(`--walltimes: expected actual, stated or 5x, got ${JSON.stringify(text)}`, exitCode.usage);
  return { kind: "times", factor: decimal(text.slice(0, -1), "--walltimes", { min: 1, max: 1000 }) };
}

interface Run {
  readonly trace: Trace;
  readonly fleet: FleetSpec;
  readonly policy: Policy;
  readonly faults: FaultOptions | null;
  readonly startupMs: number;
  readonly walltimes: TraceWalltimes;
  readonly inputs?: TraceInputs;
  readonly teams?: readonly Team[];
}

async function measure(context: CommandContext, progress: ProgressLine, run: Run) {
  const { TraceSimulation } = await import("@headroom/sim");
  const startedAtNs = process.hrtime.bigint();
  const simulation = new TraceSimulation(run);
  while (!simulation.advance(roundsPerTurn)) {
    progress.show(
      `${run.policy.name}: ${Math.floor(simulation.progress * 100)}% of ${run.trace.jobs.length} jobs submitted`,
    );
    await setImmediate();
    if (context.terminal.interrupted.aborted) throw new CliError("interrupted", exitCode.interrupted);
  }
  const result = simulation.result();
  const wallS = Number(process.hrtime.bigint() - startedAtNs) / 1e9;
  return {
    ...result,
    wall_s: Math.round(wallS * 1000) / 1000,
    events_per_s: Math.round(result.journal_events / wallS),
  };
}

function countsOf(loaded: LoadedTrace, simulated: Trace): Pick<SimulationReport, "broken_rows" | "left_out"> {
  const broken_rows = loaded.report?.brokenCount ?? 0;
  const left_out: SimulationReport["left_out"] = loaded.report?.leftOut ?? {};
  const withoutAccelerators = loaded.trace.jobs.length - simulated.jobs.length;
  if (withoutAccelerators === 0) return { broken_rows, left_out };
  return {
    broken_rows,
    left_out: { ...left_out, noAccelerators: (left_out["noAccelerators"] ?? 0) + withoutAccelerators },
  };
}

/** The presets and policy files that the option lists, separated by commas. */
async function chosenPolicies(
  text: string,
  presets: ReadonlyMap<string, Policy>,
  terminal: Terminal,
): Promise<readonly Policy[]> {
  const { enginePolicy, policyResource } = await import("@headroom/views");
  const known = [...presets.values()].map(policyResource);
  return Promise.all(
    text.split(",").map(async (named) => presets.get(named) ?? enginePolicy(await namedPolicy(named, known, terminal))),
  );
}

/** This check runs before the simulation, so that a wrong path does not cost an hour of simulation. */
async function checkWritable(file: string, shown: string): Promise<void> {
  try {
    await access(path.dirname(file), constants.W_OK);
  } catch {
    throw new CliError(`--html: ${shown} cannot be written: its folder is not there or not writable`);
  }
}
