/** `headroom plan demand FILE`, and the demand of `headroom plan FILE --demand FILE`: the performance model sizes what people expect. */
import type { SizedDemand, WorkSizer } from "@headroom/plan";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { acceleratorName } from "../size/model-options.ts";
import { pretrainingSizer } from "../size/pretraining.ts";
import { readPlanFile } from "./plan-file.ts";
import { numberTable } from "./plan-text.ts";
import type { PlanOutputOptions } from "./run-ceilings.ts";

export async function runDemand(context: CommandContext, file: string, options: PlanOutputOptions): Promise<ExitCode> {
  const demand = await sizedDemand(context, file);
  if (options.json === true) {
    context.print(JSON.stringify(demand, null, 2));
    return exitCode.ok;
  }
  const at = [0, Math.floor((demand.months.length - 1) / 2), demand.months.length - 1];
  const months = [...new Set(at)];
  const amount = (value: number): string => String(Math.round(10 * value) / 10);
  const rows = demand.entries.map(({ name, owner, kind, probabilityPct, accelerators }) => [
    name,
    owner,
    kind,
    `${probabilityPct}%`,
    ...months.map((month) => amount(accelerators[month] ?? 0)),
  ]);
  const sums = (["p10", "p50", "p95"] as const).map((name) => [
    `together, ${name}`,
    "",
    "",
    "",
    ...months.map((month) => amount(demand[name][month] ?? 0)),
  ]);
  const titles = ["entry", "owner", "kind", "probability", ...months.map((month) => demand.months[month] ?? "")];
  context.print(...numberTable(context, titles, [...rows, ...sums]));
  return exitCode.ok;
}

export async function sizedDemand(context: CommandContext, file: string): Promise<SizedDemand> {
  const { readDemandDocument, sizeDemand } = await import("@headroom/plan");
  const document = await readPlanFile(context, file, readDemandDocument);
  const answer = sizeDemand(document, await sizerFor(document.accelerator));
  if (answer.kind === "impossible")
    throw new CliError(`${file}: entry ${answer.entry}: ${answer.reason}`, exitCode.unsatisfied);
  return answer.demand;
}

async function sizerFor(named: string): Promise<WorkSizer> {
  const { sizeServing } = await import("@headroom/perf");
  const sizePretraining = await pretrainingSizer();
  const accelerator = await acceleratorName(named, undefined);
  return {
    trainingHours(model, tokens) {
      const report = sizePretraining({ model, accelerator, tokens });
      if (typeof report === "string") return report;
      return report.run?.acceleratorHours ?? "the performance model gives no duration of the run";
    },
    servingAccelerators(model, { requestsPerS, promptTokens, outputTokens }) {
      const answer = sizeServing({
        model,
        accelerator,
        weights: "bf16",
        promptTokens,
        outputTokens,
        prefixHitShare: 0,
        requestsPerS,
        ttftMs: 1000,
        tpotMs: 50,
        share: 0.95,
        pricePerAcceleratorHour: 0,
        weightsGbPerS: 5,
      });
      if (answer.kind === "impossible") return answer.reason;
      if (answer.kind !== "serving") return "the performance model has no figures for it";
      return answer.plans[0]?.acceleratorCount ?? "no layout fits";
    },
  };
}
