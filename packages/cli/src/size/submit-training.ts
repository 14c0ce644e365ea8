/**
 * `headroom size train --submit`: submits the plan as a workload, with the launch command, and keeps each
 * tensor-parallel group within one domain of the fabric.
 */
import type { CompletedTraining, TrainingReport } from "@headroom/perf";
import type { Fleet, HeadroomClient, ModelRequest, WorkloadSpec } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";

export interface TrainingSubmissionOptions {
  readonly submit?: true;
  readonly name?: string;
  readonly team?: string;
  readonly dir?: string;
  readonly walltime?: string;
  readonly arguments?: string;
  readonly waitForType?: true;
  readonly dryRun?: true;
}

interface SubmittedTraining {
  /** The workload as a document of a workload file. */
  readonly document: Readonly<Record<string, unknown>>;
  readonly spec: WorkloadSpec;
  readonly model?: ModelRequest | undefined;
  /** Notes about parts of the plan that the fleet does not support. */
  readonly notes: readonly string[];
}

const submissionFlags = [
  ["name", "--name"],
  ["team", "--team"],
  ["dir", "--dir"],
  ["walltime", "--walltime"],
  ["arguments", "--arguments"],
  ["waitForType", "--wait-for-type"],
  ["dryRun", "--dry-run"],
] as const;

/** Checks options that are valid only together, before any computation. */
export function checkSubmission(options: TrainingSubmissionOptions, accelerator: string | undefined): void {
  const { submit, name } = options;
  if (submit !== true) {
    const lone = submissionFlags.find(([option]) => options[option] !== undefined);
    if (lone === undefined) return;
    throw new CliError(`${lone[1]} needs --submit`, exitCode.usage);
  }
  if (accelerator === undefined)
    throw new CliError("--submit needs one accelerator: name it, for example --accelerator H100", exitCode.usage);
  if (name === undefined) throw new CliError("--submit needs a name: --name llama-ft", exitCode.usage);
}

export async function submitTraining(
  context: CommandContext,
  completed: CompletedTraining & { readonly answer: TrainingReport },
  { options, isJson }: { readonly options: TrainingSubmissionOptions; readonly isJson: boolean },
): Promise<{ readonly code: ExitCode; readonly result: Readonly<Record<string, unknown>> }> {
  const client = await context.connect();
  const { document, spec, model, notes } = await trainingWorkload(client, completed, {
    ...options,
    directory: context.terminal.workingDirectory,
  });
  if (!isJson) {
    const { stringify } = await import("yaml");
    context.print("", "Workload:", ...indented(stringify(document, { lineWidth: 0 })), ...notes);
  }
  if (options.dryRun === true) {
    const forecast = await client.forecastWorkload(spec);
    const { canNeverStart } = await import("@headroom/protocol");
    const { forecastLines } = await import("../output/forecast-text.ts");
    if (!isJson) context.print("", ...forecastLines(forecast, context.paint));
    const neverStarts = forecast.kind === "waits" && canNeverStart(forecast.verdict);
    return { code: neverStarts ? exitCode.unsatisfied : exitCode.ok, result: { workload: document, forecast } };
  }
  const { workloadId, notices } = await client.submitWorkload(spec);
  const { declareModels } = await import("./declare-models.ts");
  await declareModels(context, client, [{ workloadId, spec, model }]);
  const { noticeLines } = await import("../output/notice-lines.ts");
  if (!isJson) {
    for (const line of [`submitted ${spec.name} (${workloadId})`, ...noticeLines(notices)]) context.note(line);
    context.note(`headroom logs -f ${spec.name} · headroom why ${spec.name} · headroom stop ${spec.name}`);
  }
  const told = notices === undefined ? {} : { notices };
  return { code: exitCode.ok, result: { workload: document, workloadId, ...told } };
}

const indented = (text: string): string[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => `  ${line}`);

export async function trainingWorkload(
  client: Pick<HeadroomClient, "fleet">,
  { question, answer }: CompletedTraining & { readonly answer: TrainingReport },
  options: TrainingSubmissionOptions & { readonly directory: string },
): Promise<SubmittedTraining> {
  const { name, team, dir, walltime, arguments: more, waitForType, directory } = options;
  const { nodeCount, plan } = answer;
  const perWorker = question.acceleratorCount / nodeCount;
  if (!Number.isInteger(perWorker))
    throw new CliError(
      `${question.acceleratorCount} accelerators do not divide over ${nodeCount} nodes: pass --gpus-per-node, or a --gpus that is a multiple of it`,
      exitCode.usage,
    );
  const fleet = await client.fleet();
  const types = await typesOf(fleet, answer.accelerator);
  const level = narrowestLevel(fleet, types);
  const sliceWorkers = plan.tensor / perWorker;
  const notes =
    sliceWorkers > 1 && level === null
      ? [`Tensor parallelism spans ${sliceWorkers} nodes, but the fleet declares no fabric level to place them in.`]
      : [];
  const fabric =
    level === null || nodeCount === 1
      ? {}
      : {
          fabric: {
            prefer: level,
            ...(sliceWorkers > 1 ? { slices: [{ workers: sliceWorkers, within: level }] } : {}),
          },
        };
  const { writeDuration, readDocument, pathText } = await import("@headroom/protocol");
  const everyMs = Math.max(1, Math.round(answer.failures.chosen.intervalSeconds)) * 1_000;
  const document = {
    kind: "train",
    name,
    ...(team === undefined ? {} : { team }),
    run: commandOf(answer, more),
    dir: await absolute(dir, directory),
    gang: { workers: nodeCount, accelerators: perWorker },
    accelerator: types,
    ...(waitForType === true ? { waitForType } : {}),
    ...fabric,
    checkpoint: { every: writeDuration(everyMs) },
    ...(walltime === undefined ? {} : { walltime }),
    ...modelBlock(question, answer),
  };
  const reading = readDocument(document);
  if (!reading.ok)
    throw new CliError(
      reading.problems.map(({ path, message }) => `--${pathText(path)}: ${message}`).join("\n"),
      exitCode.usage,
    );
  if (reading.document.kind !== "workload") throw new CliError("it is no workload", exitCode.usage);
  const { spec, model } = reading.document;
  return { document, spec, model, notes };
}

/**
 * The workload's `model` section, if the model is in the catalogue. Measured steps are then compared with the
 * prediction.
 */
function modelBlock(
  { model, sequenceLength, globalBatch, tokens, stack }: CompletedTraining["question"],
  { precision }: TrainingReport,
): object {
  if (typeof model !== "string") return {};
  const stated = { ...(tokens === undefined ? {} : { tokens }), ...(stack === undefined ? {} : { stack }) };
  return { model: { preset: model, sequence: sequenceLength, globalBatch, precision: precision.linear, ...stated } };
}

async function absolute(dir: string | undefined, directory: string): Promise<string> {
  const path = await import("node:path");
  return path.resolve(directory, dir ?? ".");
}

/** The launch command, with the length of the run and its checkpoints. The plan alone does not state these. */
function commandOf({ launch, stack, run, step, failures }: TrainingReport, more: string | undefined): string {
  if (launch === null)
    throw new CliError(
      "This plan cannot be written as a command line (adapters and JAX programs set it in code, torchtitan has no fp16). Write a workload file and submit it with headroom apply.",
      exitCode.unsatisfied,
    );
  const everySteps = Math.max(1, Math.round(failures.chosen.intervalSeconds / step.seconds));
  const directory = '"$HEADROOM_CHECKPOINT_DIR"';
  const saved =
    stack === "eager"
      ? [
          "--checkpoint.enable",
          `--checkpoint.folder ${directory}`,
          `--checkpoint.interval ${everySteps}`,
          ...(run === undefined ? [] : [`--training.steps ${run.steps}`]),
        ]
      : [
          `--save ${directory} --load ${directory}`,
          `--save-interval ${everySteps}`,
          ...(run === undefined ? [] : [`--train-iters ${run.steps}`]),
        ];
  return [launch, ...saved, ...(more === undefined ? [] : [more])].join(" ");
}

/** The fleet's own names for the accelerator; if the fleet has none, those of the catalogue. */
async function typesOf({ acceleratorTypes }: Fleet, accelerator: string): Promise<string[]> {
  const { findAccelerator } = await import("@headroom/perf");
  const own = acceleratorTypes.map(({ type }) => type).filter((type) => findAccelerator(type)?.name === accelerator);
  return own.length === 0 ? [accelerator] : own;
}

/** The lowest fabric level of the first site that has the type; `null`: no site with the type declares levels. */
function narrowestLevel({ sites, pools }: Fleet, types: readonly string[]): string | null {
  const own = new Set(
    pools.filter(({ acceleratorType }) => types.includes(acceleratorType ?? "")).map(({ site }) => site),
  );
  const levels = sites.filter(({ name }) => own.has(name)).map(({ fabricLevels }) => fabricLevels.at(-1));
  return levels.find((level) => level !== undefined) ?? null;
}
