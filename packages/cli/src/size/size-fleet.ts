/**
 * `headroom size --fleet`: compares predictions with measured runs, and shows the effect of the correction on their
 * error.
 */
import type { FleetPredictions, MeasuredRun } from "@headroom/protocol";
import { slowRunText, stepText } from "@headroom/views/text";
import { exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { plural } from "../output/amounts.ts";
import { tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";
import { exportCorrection } from "./fleet-correction.ts";

export interface FleetOptions {
  readonly fleet?: true;
  readonly export?: string;
  readonly json?: true;
}

const RUNS_SHOWN = 20;

export async function runSizeFleet(context: CommandContext, options: FleetOptions): Promise<ExitCode> {
  const client = await context.connect();
  const predictions = await client.fleetPredictions();
  if (options.export !== undefined) await exportCorrection(context, options.export, predictions);
  if (options.json === true) context.print(JSON.stringify(predictions, null, 2));
  else context.print(...fleetLines(predictions, context));
  if (options.export !== undefined) context.note(`wrote ${options.export}: headroom size train --correction FILE`);
  return exitCode.ok;
}

const right = (title: string): { title: string; align: "right" } => ({ title, align: "right" });

function fleetLines({ kinds, runs }: FleetPredictions, { terminal, paint }: CommandContext): string[] {
  if (runs.length === 0) {
    return [
      "Nothing has been measured yet. A workload that names its `model`, reports its steps and runs on an accelerator of the catalogue is measured within two minutes.",
    ];
  }
  const kindColumns = [
    { title: "TYPE" },
    { title: "FAMILY" },
    ...["RUNS", "FACTOR", "BIAS", "CORRECTED", "ERROR", "CORRECTED"].map(right),
  ];
  const kindRows = kinds.map((kind) => [
    kind.acceleratorType,
    kind.family,
    String(kind.runCount),
    kind.factor.toFixed(3),
    signedPercent(kind.uncorrectedBias),
    signedPercent(kind.correctedBias),
    percent(kind.uncorrectedError),
    percent(kind.correctedError),
  ]);
  const runColumns = [
    { title: "WORKLOAD" },
    { title: "TYPE" },
    { title: "FAMILY" },
    ...["GPUS", "MODEL", "CORRECTED", "MEASURED", "DIFFERENCE"].map(right),
  ];
  const shown = runs.slice(0, RUNS_SHOWN);
  const slow = runs.flatMap((run) => {
    const text = slowRunText(run);
    return text === null ? [] : [`${paint("yellow", "slow")}  ${printable(`${run.workload}: ${text}`)}`];
  });
  return [
    ...(kinds.length === 0 ? [] : tableLines(kindColumns, kindRows, terminal.stdout, paint)),
    ...(kinds.length === 0
      ? []
      : [
          "BIAS: mean of measured divided by predicted time, less one. CORRECTED: the error of each run, corrected by the other runs.",
        ]),
    "",
    ...tableLines(runColumns, shown.map(runRow), terminal.stdout, paint),
    ...(runs.length > shown.length ? [`${plural(runs.length - shown.length, "further run")}: --json`] : []),
    ...(slow.length === 0 ? [] : ["", ...slow]),
  ];
}

function runRow({ workload, acceleratorType, family, acceleratorCount, predicted, measured }: MeasuredRun): string[] {
  const difference = measured === null ? "" : signedPercent(measured.seconds / predicted.seconds - 1);
  return [
    printable(workload),
    acceleratorType,
    family,
    String(acceleratorCount),
    stepText(predicted.uncorrectedSeconds),
    stepText(predicted.seconds),
    measured === null ? "" : stepText(measured.seconds),
    difference,
  ];
}

const percent = (share: number): string => `${(share * 100).toFixed(1)}%`;
const signedPercent = (share: number): string => `${share < 0 ? "" : "+"}${percent(share)}`;
