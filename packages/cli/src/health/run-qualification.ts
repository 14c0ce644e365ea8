/** `headroom nodes qualify NODE…`: nodes have to pass the suite of their pool again. */
import type { Node } from "@headroom/protocol";
import { exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { printable } from "../terminal.ts";
import type { NodesQualifyOptions } from "./run-nodes-qualify.ts";

interface Line {
  readonly nodeId: string;
  readonly pool: string;
  readonly suite: string | null;
  readonly sentence: string;
}

export async function runQualification(
  context: CommandContext,
  nodes: readonly string[],
  { json, dryRun }: NodesQualifyOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const { pools } = await client.fleet();
  const lines: Line[] = [];
  for (const id of nodes) {
    const node = await client.getNode(id);
    const rule = pools.find(({ name }) => name === node.pool)?.qualification;
    const suite = rule?.suite ?? null;
    if (dryRun !== true) await client.qualifyNode(id);
    lines.push({ nodeId: node.id, pool: node.pool, suite, sentence: sentenceOf(node, suite, dryRun === true) });
    if (context.terminal.interrupted.aborted) return exitCode.interrupted;
  }
  if (json === true) context.print(JSON.stringify({ dryRun: dryRun === true, nodes: lines }, null, 2));
  else for (const { sentence } of lines) context.print(printable(sentence));
  return exitCode.ok;
}

function sentenceOf({ id, pool, holders, qualification }: Node, suite: string | null, isDryRun: boolean): string {
  if (suite === null) return `Pool ${pool} of node ${id} has no rule of qualification, so that nothing begins.`;
  if (qualification !== undefined && qualification.phase !== "failed")
    return `Node ${id} has to qualify already: it is ${qualification.phase}.`;
  const when = holders.length === 0 ? "" : " when its work has ended";
  const verb = isDryRun ? "would run" : "runs";
  return `Node ${id} takes no new work, and ${verb} the suite ${suite}${when}.`;
}
