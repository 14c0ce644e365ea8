/** `headroom size network`: switches and cables for a fabric of any size. */
import type { FabricWall, JobMix, MixJob } from "@headroom/perf";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { pairLines, tableLines } from "../output/table.ts";
import { rate, settings, wholeNumber } from "../simulate/amount-options.ts";
import { needed } from "./model-options.ts";
import { given, percentText, positive, significant } from "./quantities.ts";

export interface NetworkOptions {
  readonly nodes?: string;
  readonly kind?: string;
  readonly ports?: string;
  readonly switchPorts?: string;
  readonly portGbps?: string;
  readonly oversubscription?: string;
  readonly spineOversubscription?: string;
  readonly planes?: string;
  readonly job?: readonly string[];
  readonly accelerator?: string;
  readonly loss?: string;
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
  const answer = perf.sizeNetwork(request, mixOf(options));
  if (options.json === true) context.print(JSON.stringify(answer, null, 2));
  if (answer.kind === "impossible") {
    if (options.json !== true) context.note(`${answer.reason}. Nearest possible request: ${answer.nearest}.`);
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
  if (answer.wall !== undefined) context.print(...wallLines(answer.wall, context));
  return exitCode.ok;
}

function right(title: string): { title: string; align: "right" } {
  return { title, align: "right" };
}

/** One kind of job in the mix, as `model=llama-3-70b,gpus=64,batch=128,sequence=8192,share=2,scaling=strong`. */
function mixOf({ job = [], accelerator, loss }: NetworkOptions): JobMix | undefined {
  if (job.length === 0) return undefined;
  return {
    accelerator: needed(accelerator, "--accelerator", "H100"),
    lossShare: given(loss, (text) => rate(text, "--loss") / 10_000, 0.1),
    jobs: job.map(mixJob),
  };
}

function mixJob(text: string): MixJob {
  const found = settings(text, "--job", ["model", "gpus", "batch", "sequence", "share", "scaling", "stack"]);
  const part = (key: string): string => needed(found.get(key), `--job: ${key}`, `${key}=…`);
  const whole = (value: string, key: string): number => wholeNumber(value, `--job: ${key}`, { min: 1, max: countMax });
  const scaling = found.get("scaling") ?? "weak";
  const stack = found.get("stack") ?? "fused";
  if (scaling !== "weak" && scaling !== "strong")
    throw new CliError("--job: scaling is weak or strong", exitCode.usage);
  if (stack !== "fused" && stack !== "eager" && stack !== "compiled") {
    throw new CliError("--job: stack is fused, eager or compiled", exitCode.usage);
  }
  return {
    model: part("model"),
    share: given(found.get("share"), (value) => positive(value, "--job: share"), 1),
    scaling,
    acceleratorCount: whole(part("gpus"), "gpus"),
    sequenceLength: whole(found.get("sequence") ?? "4096", "sequence"),
    globalBatch: whole(part("batch"), "batch"),
    format: "bf16",
    stack,
  };
}

function wallLines({ points, wall }: FabricWall, { terminal, paint }: CommandContext): string[] {
  const columns = [right("NODES"), right("LOST TO THE NETWORK"), right("TO OVERSUBSCRIPTION")];
  const rows = points.map(({ nodeCount, networkShare, oversubscriptionShare }) => [
    String(nodeCount),
    percentText(networkShare),
    percentText(oversubscriptionShare),
  ]);
  const end =
    wall === undefined
      ? "No size up to this one loses a larger share."
      : `The scaling limit is ${wall.nodeCount} nodes: ${wall.blame === "ports" ? "the ports" : "the oversubscription"}.`;
  return ["", ...tableLines(columns, rows, terminal.stdout, paint), end];
}
