/** `headroom size network`: switches and cables for a fabric of any size. */
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { pairLines, tableLines } from "../output/table.ts";
import { wholeNumber } from "../simulate/amount-options.ts";
import { given, positive, significant } from "./quantities.ts";

export interface NetworkOptions {
  readonly nodes?: string;
  readonly kind?: string;
  readonly ports?: string;
  readonly switchPorts?: string;
  readonly portGbps?: string;
  readonly oversubscription?: string;
  readonly spineOversubscription?: string;
  readonly planes?: string;
  readonly json?: true;
}

const kinds = ["fat-tree", "rail-optimised", "dragonfly"] as const;
const countMax = 10_000_000;

export async function runSizeNetwork(context: CommandContext, options: NetworkOptions): Promise<ExitCode> {
  const perf = await import("@headroom/perf");
  if (options.nodes === undefined) throw new CliError("--nodes says how many nodes to join", exitCode.usage);
  const kind = kinds.find((known) => known === (options.kind ?? "rail-optimised"));
  if (kind === undefined) throw new CliError(`--kind: expected ${kinds.join(", ")}`, exitCode.usage);
  const count = (text: string, what: string): number => wholeNumber(text, what, { min: 1, max: countMax });
  const request = perf.fabricRequest({
    kind,
    nodeCount: count(options.nodes, "--nodes"),
    portsPerNode: given(options.ports, (text) => count(text, "--ports"), 8),
    switchPorts: given(options.switchPorts, (text) => count(text, "--switch-ports"), 64),
    portGbps: given(options.portGbps, (text) => positive(text, "--port-gbps"), 400),
    leafOversubscription: given(options.oversubscription, (text) => positive(text, "--oversubscription"), 1),
    spineOversubscription: given(
      options.spineOversubscription,
      (text) => positive(text, "--spine-oversubscription"),
      1,
    ),
    planes: given(options.planes, (text) => count(text, "--planes"), 1),
  });
  const answer = perf.fabricCounts(request);
  if (options.json === true) context.print(JSON.stringify(answer, null, 2));
  if (answer.kind === "impossible") {
    if (options.json !== true) context.note(`${answer.reason}. Nearest that works: ${answer.nearest}.`);
    return exitCode.unsatisfied;
  }
  if (options.json === true) return exitCode.ok;
  const columns = [{ title: "LEVEL" }, ...["SWITCHES", "CABLES DOWN", "NODES BELOW", "OVERSUBSCRIBED"].map(right)];
  const rows = answer.levels.map(({ name, switchCount, cablesDown }, index) => [
    name,
    String(switchCount),
    String(cablesDown),
    String(answer.nodesBelow[index] ?? ""),
    answer.oversubscription[index] === undefined ? "" : `${significant(answer.oversubscription[index])}:1`,
  ]);
  context.print(...tableLines(columns, rows, context.terminal.stdout, context.paint));
  context.print(
    ...pairLines(
      [
        ["switches", significant(answer.switchCount)],
        ["cables", significant(answer.cableCount)],
        ["bisection", `${significant(answer.bisectionGbPerS)} GB/s per direction`],
        ["grows to", `${significant(answer.nodeCountMax)} nodes with these switches and tiers`],
      ],
      context.paint,
    ),
  );
  return exitCode.ok;
}

function right(title: string): { title: string; align: "right" } {
  return { title, align: "right" };
}
