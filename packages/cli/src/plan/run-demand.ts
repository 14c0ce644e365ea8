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
  const axes = Object.entries(axisTitles).map(([axis, title]) => [
    title,
    ...months.map((month) => amount(demand.axes[axis as keyof SizedDemand["axes"]][month] ?? 0)),
  ]);
  context.print(...numberTable(context, ["expected", ...titles.slice(4)], axes));
  return exitCode.ok;
}

const axisTitles: Readonly<Record<keyof SizedDemand["axes"], string>> = {
  powerKw: "power in kW, before cooling",
  fabricPorts: "ports of the compute network",
  storageTb: "storage in TB",
  readGbPerS: "storage read in GB/s",
  writeGbPerS: "storage written in GB/s",
  storageClients: "storage clients",
};

export async function sizedDemand(context: CommandContext, file: string): Promise<SizedDemand> {
  const { readDemandDocument, sizeDemand } = await import("@headroom/plan");
  const document = await readPlanFile(context, file, readDemandDocument);
  const answer = sizeDemand(document, await sizerFor(document.accelerator));
  if (answer.kind === "impossible")
    throw new CliError(`${file}: entry ${answer.entry}: ${answer.reason}`, exitCode.unsatisfied);
  return answer.demand;
}

/** A server takes 1.8 times the power of its accelerators: DGX H100 10.2 kW for 8 of 700 W, DGX B200 14.3 kW for 8 of 1,000 W. */
const SERVER_POWER_FACTOR = 1.8;
const USUAL_WATTS = 700;

export function kwPerAccelerator({ powerWatts = USUAL_WATTS }: { readonly powerWatts?: number }): number {
  return (powerWatts * SERVER_POWER_FACTOR) / 1000;
}

/** Share of the peak rate that reading tokens reaches, as prefill of a busy replica does. */
const READING_SHARE = 0.4;
/** A replica that starts reads its weights within this time. */
const START_SECONDS = 60;

async function sizerFor(named: string): Promise<WorkSizer> {
  const { findAccelerator, findModel, parameterCounts, sizeServing } = await import("@headroom/perf");
  const sizePretraining = await pretrainingSizer();
  const accelerator = await acceleratorName(named, undefined);
  const found = findAccelerator(accelerator);
  const noFigures = "the performance model has no figures for it";
  return {
    kwPerAccelerator: kwPerAccelerator(found ?? {}),
    embeddingTokensPerS(model) {
      const known = findModel(model);
      const tflops = found?.denseTflops.bf16;
      if (known === undefined || tflops === undefined) return noFigures;
      return (tflops * 1e12 * READING_SHARE) / (2 * parameterCounts(known).active);
    },
    trainingStorage(model, tokens) {
      const report = sizePretraining({ model, accelerator, tokens });
      if (typeof report === "string") return { capacityTb: 0, readGbPerS: 0, writeGbPerS: 0, clients: 0 };
      const { capacityBytes, readGbPerS, writeGbPerS, clientCount } = report.storage.demand;
      return { capacityTb: capacityBytes / 1e12, readGbPerS, writeGbPerS, clients: clientCount };
    },
    servingStorage(model) {
      const known = findModel(model);
      const bytes = known === undefined ? 0 : 2 * parameterCounts(known).total;
      return { capacityTb: bytes / 1e12, readGbPerS: bytes / START_SECONDS / 1e9, writeGbPerS: 0, clients: 1 };
    },
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
      if (answer.kind !== "serving") return noFigures;
      return answer.plans[0]?.acceleratorCount ?? "no layout fits";
    },
  };
}
