/** `headroom size catalogue`: lists the names that `--accelerator`, `--node-network` and `--model` accept. */
import type { Accelerator } from "@headroom/perf";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { tableLines } from "../output/table.ts";
import { catalogueFile } from "./model-options.ts";
import { significant } from "./quantities.ts";

export interface CatalogueOptions {
  readonly catalogue?: string;
  readonly json?: true;
}

export async function runSizeCatalogue(context: CommandContext, options: CatalogueOptions): Promise<ExitCode> {
  const perf = await import("@headroom/perf");
  const file = await catalogueFile(context, options.catalogue);
  const own = file === undefined ? undefined : perf.readCatalogueEntries(file);
  if (own?.kind === "refused") throw new CliError(own.problems.join("\n"), exitCode.usage);
  const accelerators = [...(own?.accelerators ?? []), ...perf.accelerators];
  const fabrics = own?.fabrics ?? [];
  const { links, modelNames } = perf;
  if (options.json === true) {
    context.print(JSON.stringify({ accelerators, links, fabrics, models: modelNames }, null, 2));
    return exitCode.ok;
  }
  const { terminal, paint } = context;
  const right = (title: string): { title: string; align: "right" } => ({ title, align: "right" });
  const acceleratorColumns = [
    { title: "ACCELERATOR" },
    ...["BF16", "FP8", "FP4", "GIB", "MEMORY GB/S", "LINK GB/S", "DOMAIN"].map(right),
    { title: "SOURCE OF THE RATES" },
  ];
  const linkColumns = [{ title: "LINK" }, { title: "KIND" }, right("GB/S"), { title: "SOURCE" }];
  const linkRows = links.map(({ name, kind, gbPerS, source }) => [name, kind, significant(gbPerS), source]);
  context.print(
    ...tableLines(acceleratorColumns, accelerators.map(acceleratorRow), terminal.stdout, paint),
    "",
    ...tableLines(linkColumns, linkRows, terminal.stdout, paint),
    "",
    ...(fabrics.length === 0 ? [] : [`fabrics: ${fabrics.map(({ name }) => name).join(", ")}`]),
    `models: ${modelNames.join(", ")}`,
  );
  return exitCode.ok;
}

function acceleratorRow({ name, denseTflops, memoryGib, memoryGbPerS, scaleUp, sources }: Accelerator): string[] {
  const rate = (tflops: number | undefined): string => (tflops === undefined ? "" : significant(tflops));
  return [
    name,
    rate(denseTflops.bf16),
    rate(denseTflops.fp8),
    rate(denseTflops.fp4),
    significant(memoryGib),
    significant(memoryGbPerS),
    significant(scaleUp.gbPerS),
    String(scaleUp.domainCount),
    sources.matrix ?? "",
  ];
}
