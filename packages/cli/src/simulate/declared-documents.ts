/** `--fleet FILE`: fleet and teams for a simulated trace, in the format of `headroom apply`. */
import type { Team } from "@headroom/model";
import type { FleetSpec } from "@headroom/sim";
import { CliError, exitCode } from "../cli-error.ts";
import { withPlaces } from "../documents/apply-request.ts";
import { loadDocuments, type LoadedDocument } from "../documents/load-documents.ts";
import type { Terminal } from "../terminal.ts";

export interface DeclaredDocuments {
  readonly fleet: FleetSpec;
  readonly teams: readonly Team[];
}

export async function declaredDocuments(files: readonly string[], terminal: Terminal): Promise<DeclaredDocuments> {
  return declaredFrom(await loadDocuments(files, terminal), files.join(", "));
}

/** `shown`: the files, for messages. */
export async function declaredFrom(loaded: readonly LoadedDocument[], shown: string): Promise<DeclaredDocuments> {
  const { createEngine } = await import("@headroom/engine");
  const { planApply } = await import("@headroom/explain");
  const { engineDocuments, rejectionProblem, withCataloguePower } = await import("@headroom/views");
  const catalogue = await import("@headroom/perf/accelerator-types");
  const { declaredFleet } = await import("@headroom/sim");
  const { ProblemError } = await import("@headroom/protocol");
  const fleets = loaded.flatMap((each) => (each.document.kind === "fleet" ? [each.document.fleet] : []));
  const engine = createEngine();
  const sites = fleets.flatMap((each) => each.sites);
  const pools = fleets.flatMap((each) => each.pools);
  const documents = engineDocuments({
    sites,
    pools: withCataloguePower(engine.state, sites, pools, catalogue),
    teams: loaded.flatMap(({ document }) => (document.kind === "team" ? [document.team] : [])),
    workloads: [],
  });
  for (const each of loaded) refuseOthers(each);
  const forecast = planApply(engine, documents);
  if (forecast.kind === "refused") throw withPlaces(new ProblemError(rejectionProblem(forecast.rejection)), loaded);
  const nodes = fleets.flatMap(({ simulatedNodes }) => simulatedNodes);
  const fleet = declaredFleet({ ...documents, nodes });
  if (!fleet.nodes.some(({ acceleratorCount }) => acceleratorCount > 0))
    throw new CliError(
      `--fleet: no pool in ${shown} has nodes with accelerators: give it executor: simulated, nodes and perNode`,
      exitCode.usage,
    );
  return { fleet, teams: documents.teams };
}

/** Documents of kinds that the simulation does not use are rejected, so that none is dropped silently. */
function refuseOthers({ document, placeText }: LoadedDocument): void {
  if (document.kind === "team") return;
  if (document.kind !== "fleet")
    throw new CliError(
      `${placeText([])}: the simulation takes only fleets and teams from files; work comes from --trace`,
      exitCode.usage,
    );
  const live = document.fleet.pools.find(({ executor }) => executor !== "simulated");
  if (live !== undefined)
    throw new CliError(
      `${placeText(["sites"])}: the nodes of pool ${live.name} are not declared; a simulation needs executor: simulated, with nodes and perNode`,
      exitCode.usage,
    );
}
