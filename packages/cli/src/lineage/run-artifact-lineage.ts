/** `headroom lineage model:chat@3`: the lineage of a registered version, from the control plane. */
import type { ArtifactLineageNode } from "@headroom/protocol";
import { exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";

interface ArtifactWalk {
  readonly direction: "up" | "down" | "both";
  readonly depth: number | undefined;
  readonly json: boolean;
}

export async function runArtifactLineage(
  context: CommandContext,
  artifact: string,
  { direction, depth, json }: ArtifactWalk,
): Promise<ExitCode> {
  const client = await context.connect();
  const lineage = await client.artifactLineage(artifact, { direction, depth });
  if (json) {
    context.print(JSON.stringify(lineage, null, 2));
    return exitCode.ok;
  }
  context.print(...tableLines(lineageColumns, lineage.nodes.map(lineageRow), context.terminal.stdout, context.paint));
  if (lineage.truncated) context.note("The list is cut. --up, --down and --depth narrow it.");
  return exitCode.ok;
}

export const lineageColumns = [
  { title: "STEP", align: "right" as const },
  { title: "KIND" },
  { title: "NAME", minWidth: 20 },
  { title: "ID", minWidth: 12 },
  { title: "PLACES", minWidth: 12 },
];

export const lineageRow = ({
  depth,
  kind,
  title,
  id,
  deleted,
  places = [],
}: ArtifactLineageNode): readonly string[] => [
  String(depth),
  kind,
  printable(title),
  printable(`${id === title ? "" : id}${deleted ? " (deleted)" : ""}`),
  printable(places.join(", ")),
];
