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
    ...(accelerators.some(isUncited) ? ["", UNCITED_NOTE] : []),
  );
  return exitCode.ok;
}

/** Mark behind the name of an accelerator some of whose figures come from no document. */
const UNCITED_MARK = " *";
const UNCITED_NOTE =
  "* no document cited: some or all figures of this type come from general knowledge. Check the vendor's datasheet before you buy, or state your own in --catalogue.";

const isUncited = ({ sources }: Accelerator): boolean =>
  [sources.matrix, sources.memory, sources.scaleUp].some((source) => source?.includes("general knowledge") === true);

function acceleratorRow(accelerator: Accelerator): string[] {
  const { name, denseTflops, memoryGib, memoryGbPerS, scaleUp, sources } = accelerator;
  const mark = isUncited(accelerator) ? UNCITED_MARK : "";
  const rate = (tflops: number | undefined): string => (tflops === undefined ? "" : significant(tflops));
  return [
    name + mark,
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
