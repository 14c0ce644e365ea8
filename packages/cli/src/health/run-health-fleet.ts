/** `headroom health fleet`: the health of the fleet in short. `headroom health read --report NODE` reports faults of a node. */
import { exitCode, type ExitCode } from "../cli-error.ts";
import type { HealthSummary } from "@headroom/protocol";
import type { CommandContext } from "../command.ts";
import { instant } from "../output/amounts.ts";
import { pairLines, tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";

export interface HealthFleetOptions {
  readonly json?: boolean;
}

const DOMAINS_SHOWN = 10;
const UNWATCHED_SHOWN = 3;

const unwatchedText = ({ executor, fromMs, untilMs, signals, unknown }: HealthSummary["unwatched"][number]): string =>
  `${instant(fromMs)} to ${instant(untilMs)}: nobody looked at the nodes of ${executor}. ${signals === 1 ? "1 signal" : `${signals} signals`} ended. ${unknown}`;

export async function runHealthFleet(context: CommandContext, { json }: HealthFleetOptions): Promise<ExitCode> {
  const client = await context.connect();
  const health = await client.fleetHealth();
  if (json === true) {
    context.print(JSON.stringify(health, null, 2));
    return exitCode.ok;
  }
  const { print, paint, terminal } = context;
  const { nodes, incidents, accelerators, faulty, unwatched, domains, advice } = health;
  const phases = (["inService", "qualifying", "draining", "removing", "suspended", "lost"] as const)
    .filter((phase) => (nodes[phase] ?? 0) > 0)
    .map((phase) => `${nodes[phase]} ${phase === "inService" ? "in service" : phase}`);
  print(
    ...pairLines(
      [
        ["nodes", `${nodes.total}${phases.length === 0 ? "" : `: ${phases.join(", ")}`}`],
        ["accelerators", `${accelerators.total}, ${accelerators.lost} lost`],
        ["incidents", `${incidents.open} open, ${incidents.unacknowledged} not acknowledged`],
        ["faulty nodes", faulty.map(({ nodeId, codes }) => `${nodeId} (${codes.join(", ")})`).join(", ") || "none"],
      ],
      paint,
    ),
  );
  for (const period of unwatched.slice(0, UNWATCHED_SHOWN)) print(printable(unwatchedText(period)));
  if (domains.length > 0) {
    const rows = domains
      .slice(0, DOMAINS_SHOWN)
      .map(({ domain, nodes: size, lost, accelerators: count, workloads }) => [
        printable(`${domain.level}=${domain.path.join("/")}`),
        String(size),
        String(lost),
        String(count),
        String(workloads),
      ]);
    const titles = [
      { title: "FAILURE DOMAIN", minWidth: 16 },
      { title: "NODES", align: "right" as const },
      { title: "LOST", align: "right" as const },
      { title: "ACCELERATORS", align: "right" as const },
      { title: "WORKLOADS", align: "right" as const },
    ];
    print("", ...tableLines(titles, rows, terminal.stdout, paint));
  }
  if (advice.length > 0) print("", ...advice.map(printable));
  return exitCode.ok;
}
