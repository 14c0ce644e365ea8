import type { AcceleratorReading, Node, NodeReadings } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import { defineCommand, jsonOption, type CommandContext } from "../command.ts";
import type { NodesQualifyOptions } from "../health/run-nodes-qualify.ts";
import { coresText, instant, memoryText, plural } from "../output/amounts.ts";
import { pairLines, tableLines, type Cell } from "../output/table.ts";
import { qualificationPairs } from "../output/qualification-pairs.ts";
import { allPages } from "../resolve-workload.ts";
import { forceOption, removalText } from "../removal.ts";
import { printable } from "../terminal.ts";

interface NodesCommandOptions {
  readonly json?: boolean;
}

interface DrainOptions extends NodesCommandOptions {
  readonly requeue?: boolean;
}

interface NoticeOptions extends NodesCommandOptions {
  readonly in?: string;
  readonly at?: string;
  readonly reason?: string;
  readonly withdraw?: boolean;
}

const NODES_SHOWN_MAX = 100_000;
const nodeArgument = {
  syntax: "<node>",
  description: "id of the node, as `headroom nodes` shows it",
  complete: "node",
} as const;

interface ShowOptions extends NodesCommandOptions {
  readonly points?: string;
}

/** Number of points of a series that a terminal shows. */
const POINTS_SHOWN = 20;
const POINTS_MAX = 600;

const showCommand = defineCommand<ShowOptions>({
  name: "show",
  summary: "Show a node, its work and the telemetry of its accelerators",
  details:
    "Utilization, memory, temperature, power and uncorrected memory errors are read every 15 s from nvidia-smi, DCGM (dcgmi)\n" +
    "or rocm-smi. A dash means that the tool does not report the value.\n" +
    "  headroom nodes show n1 --points 60",
  arguments: [nodeArgument],
  options: [
    {
      flags: "--points <n>",
      description: `also print the history of each value, with at most this number of points, 1 to ${POINTS_MAX} (default: no history)`,
    },
    jsonOption,
  ],
  run: (context, { args, options }) => showNode(context, args[0] ?? "", options),
});

async function showNode(context: CommandContext, id: string, options: ShowOptions): Promise<ExitCode> {
  const points = pointsOf(options.points);
  const client = await context.connect();
  const [node, telemetry, qualification, { caps = [] }] = await Promise.all([
    client.getNode(id),
    client.nodeTelemetry(id, { points: points ?? POINTS_SHOWN }),
    client.nodeQualification(id),
    client.fleet(),
  ]);
  const { capsOfNode, wattsText } = await import("@headroom/views");
  const ownCaps = capsOfNode(node, caps);
  if (options.json === true) {
    context.print(JSON.stringify({ node, telemetry, qualification, caps: ownCaps }, null, 2));
    return exitCode.ok;
  }
  const { terminal, paint } = context;
  const { readings, history } = telemetry;
  const capPairs = ownCaps.map(({ of, level, path, drawWatts, capWatts }) => {
    const domain = path.length === 1 ? path.join("") : path.slice(1).join("/");
    return [`${of} cap`, `${level} ${domain}: ${wattsText(drawWatts)} of ${wattsText(capWatts)}`] as const;
  });
  const pairs = [...nodePairs(node), ...capPairs, ...qualificationPairs(qualification, instant)];
  context.print(paint("bold", node.id), ...pairLines(pairs, paint));
  if (node.holders.length > 0)
    context.print("", ...tableLines(holderTitles, node.holders.map(holderRow), terminal.stdout, paint));
  if (readings.accelerators.length > 0) {
    const rows = readings.accelerators.map((each) => [String(each.index), ...readingCells(each), each.fault ?? ""]);
    context.print(
      "",
      ...tableLines([...readingTitles("ACCELERATOR"), { title: "FAULT" }], rows, terminal.stdout, paint),
    );
  } else if (node.acceleratorCount > 0) context.print("", noReadingsText(readings));
  if (points !== null)
    for (const { index, points: course } of history) {
      const rows = course.map((point) => [instant(point.atMs), ...readingCells(point)]);
      if (rows.length > 0)
        context.print("", `accelerator ${index}`, ...tableLines(readingTitles("TIME"), rows, terminal.stdout, paint));
    }
  return exitCode.ok;
}

function pointsOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const points = /^[1-9][0-9]{0,3}$/.test(text) ? Number(text) : 0;
  if (points < 1 || points > POINTS_MAX)
    throw new CliError(`--points: expected a whole number from 1 to ${POINTS_MAX}, got "${text}"`, exitCode.usage);
  return points;
}

const nodePairs = (node: Node): (readonly [string, string])[] => [
  ["state", stateCell(node).text],
  ["pool", node.pool],
  ["place", [node.site, ...node.fabric].join(" / ")],
  ["accelerators", `${countOf(node.freeAccelerators)} of ${node.acceleratorCount} ${node.acceleratorType} free`],
  ["cores", `${coresText(node.coresFreeMilli)} of ${coresText(node.coresMilli)} free`],
  ["memory", `${memoryText(node.memoryFreeMib)} of ${memoryText(node.memoryMib)} free`],
  ...(node.foreignUse === undefined ? [] : [["foreign use", foreignUseText(node.foreignUse)] as const]),
  ...(node.networkGbps === undefined
    ? []
    : [["network", `${node.networkFreeGbps ?? 0} of ${node.networkGbps} Gbps free`] as const]),
  ...(node.notice === undefined ? [] : [["goes", noticeText(node)] as const]),
  ...(Object.keys(node.labels).length === 0 ? [] : [["labels", labelsText(node)] as const]),
];

/** Amounts that work uses which Headroom does not run. */
const foreignUseText = ({ accelerators, coresMilli, memoryMib }: NonNullable<Node["foreignUse"]>): string =>
  `${plural(countOf(accelerators), "accelerator")}, ${coresText(coresMilli)} cores, ${memoryText(memoryMib)} by work that Headroom does not run`;

const holderTitles = [
  { title: "WORKLOAD", minWidth: 10 },
  { title: "TEAM", minWidth: 6 },
  { title: "WORKER", align: "right" as const },
  { title: "ACCELERATORS" },
  { title: "PHASE" },
];

const holderRow = ({ workloadName, team, worker, accelerators, profile, phase }: Node["holders"][number]): string[] => [
  workloadName,
  team,
  String(worker),
  accelerators === "" ? "none" : `${accelerators}${profile === undefined ? "" : ` (${profile})`}`,
  phase,
];

const readingTitles = (first: string): { readonly title: string; readonly align: "right" }[] =>
  [first, "BUSY", "MEMORY", "TEMPERATURE", "POWER", "ERRORS"].map((title) => ({ title, align: "right" }));

function readingCells(reading: Omit<AcceleratorReading, "index" | "fault">): string[] {
  const text = (value: number | null, of: (value: number) => string): string => (value === null ? "-" : of(value));
  const total = text(reading.memoryTotalMib, (mib) => `/${memoryText(Math.round(mib))}`);
  return [
    text(reading.busyMilli, (milli) => `${(milli / 10).toFixed(0)}%`),
    text(reading.memoryUsedMib, (mib) => `${memoryText(Math.round(mib))}${total}`),
    text(reading.temperatureC, (degrees) => `${degrees.toFixed(0)} C`),
    text(reading.powerMilliwatts, (milliwatts) => `${(milliwatts / 1000).toFixed(0)} W`),
    text(reading.errorCount, (count) => count.toFixed(0)),
  ];
}

function noReadingsText({ source, atMs, problem }: NodeReadings): string {
  if (problem !== null) return `The accelerators cannot be read: ${printable(problem)}.`;
  if (atMs !== null && source === null) return "No telemetry: no vendor's tool on this node can read the accelerators.";
  return "No telemetry yet: the accelerators are read every 15 s.";
}

const drainCommand = defineCommand<DrainOptions>({
  name: "drain",
  summary: "Drain a node: it gets no new work, and its running work finishes",
  arguments: [nodeArgument],
  options: [
    { flags: "--requeue", description: "also stop running work (with its grace period) and requeue it" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const client = await context.connect();
    const answer = await client.drainNode(args[0] ?? "", { running: options.requeue === true ? "requeue" : "wait" });
    if (options.json === true) context.print(JSON.stringify(answer, null, 2));
    else context.print(`draining ${answer.nodeId}; to undo it: headroom nodes resume ${answer.nodeId}`);
    return exitCode.ok;
  },
});

const resumeCommand = defineCommand<NodesCommandOptions>({
  name: "resume",
  summary: "Resume a drained node, which then gets new work again",
  arguments: [nodeArgument],
  options: [jsonOption],
  async run(context, { args, options }) {
    const client = await context.connect();
    const answer = await client.resumeNode(args[0] ?? "");
    if (options.json === true) context.print(JSON.stringify(answer, null, 2));
    else context.print(`resumed ${answer.nodeId}`);
    return exitCode.ok;
  },
});

interface RemoveNodeOptions extends NodesCommandOptions {
  readonly force?: boolean;
}

const removeCommand = defineCommand<RemoveNodeOptions>({
  name: "remove",
  summary: "Remove nodes that no longer exist, such as lost ones",
  details:
    "Refused while work runs on the node. A node that its executor still lists joins again as a new node, so take the machine\n" +
    "out of the cluster first.\n" +
    "Examples:\n  headroom nodes remove spot-17\n  headroom nodes remove spot-17 spot-18 --force",
  arguments: [
    { syntax: "<nodes...>", description: "ids of the nodes, as `headroom nodes` shows them", complete: "node" },
  ],
  options: [forceOption, jsonOption],
  async run(context, { args, options }) {
    const client = await context.connect();
    const removed = [];
    for (const id of args) removed.push(await client.removeNode(id, { force: options.force === true }));
    if (options.json === true) context.print(JSON.stringify(removed, null, 2));
    else for (const { nodeId, workloads } of removed) context.print(removalText(`node ${nodeId}`, workloads));
    return exitCode.ok;
  },
});

const noticeCommand = defineCommand<NoticeOptions>({
  name: "notice",
  summary: "Announce that a node goes away, such as a spot termination notice",
  details:
    "No work is placed on the node that would still run then. Running work is moved if possible; otherwise it writes a\n" +
    "checkpoint, is stopped in time and requeued. A later notice replaces an earlier one; a node that still exists an hour\n" +
    "after the announced time takes work again.\n" +
    "Examples:\n  headroom nodes notice n1 --in 2m --reason 'spot reclaim'\n  headroom nodes notice n1 --at 2027-03-01T08:00:00Z\n" +
    "  headroom nodes notice n1 --withdraw",
  arguments: [nodeArgument],
  options: [
    { flags: "--in <duration>", description: "time from now at which the node goes away: 2m (default: none)" },
    { flags: "--at <instant>", description: "instant: 2027-03-01T08:00:00Z (default: none)" },
    { flags: "--reason <text>", description: "reason for the notice, shown to users (default: none)" },
    { flags: "--withdraw", description: "withdraw the node's notice" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const [node = ""] = args;
    const isWithdrawn = options.withdraw === true;
    const said = [options.in, options.at, isWithdrawn ? "" : undefined].filter((each) => each !== undefined);
    if (said.length !== 1 || (isWithdrawn && options.reason !== undefined))
      throw new CliError("give one of --in, --at and --withdraw (--reason needs --in or --at)", exitCode.usage);
    const when = isWithdrawn ? null : await goneOf(options);
    const client = await context.connect();
    if (when === null) {
      const answer = await client.withdrawNotice(node);
      context.print(options.json === true ? JSON.stringify(answer, null, 2) : `${answer.nodeId} stays`);
      return exitCode.ok;
    }
    const { reason } = options;
    const answer = await client.noticeNode(node, { ...when, ...(reason === undefined ? {} : { reason }) });
    const { nodeId, goneAtMs } = answer;
    if (options.json === true) context.print(JSON.stringify(answer, null, 2));
    else
      context.print(
        `${nodeId} goes away at ${instant(goneAtMs)}; to withdraw the notice: headroom nodes notice ${nodeId} --withdraw`,
      );
    return exitCode.ok;
  },
});

/** The instant at which the node goes away. The control plane adds `--in 2m` to its own clock. */
async function goneOf(options: NoticeOptions): Promise<{ readonly inMs: number } | { readonly goneAtMs: number }> {
  const { DURATION_MS_MAX, readDuration, readInstant } = await import("@headroom/protocol");
  const isIn = options.in !== undefined;
  const reading = isIn ? readDuration(options.in, { min: 0, max: DURATION_MS_MAX }) : readInstant(options.at);
  if (!reading.ok) throw new CliError(`${isIn ? "--in" : "--at"}: ${reading.message}`, exitCode.usage);
  return isIn ? { inMs: reading.value } : { goneAtMs: reading.value };
}

const qualifyCommand = defineCommand<NodesQualifyOptions>({
  name: "qualify",
  summary: "Let nodes pass the suite of their pool again, or compare nodes by result files of suites",
  details: `With nodes, each one takes no new work until it has passed the suite of its pool's rule (qualification of the pool).
With --from, nodes are compared by result files of nccl-tests, SuperBench or dcgmi diag. A node fails if it is clearly worse than the median of its peers, or if the suite says so. docs/how-to/qualify-nodes.md explains
the verdicts and where the names of nodes come from. Without --propose it needs no control plane.

Examples:
  headroom nodes qualify gpu07
  headroom nodes qualify --from results/ --json`,
  arguments: [{ syntax: "[node...]", description: "nodes that have to qualify", complete: "node" }],
  options: [
    { flags: "--from <directory>", description: "folder with result files (default: none)", complete: "file" },
    { flags: "--dry-run", description: "with nodes: show what would begin, and change nothing" },
    { flags: "--propose", description: "propose that drained nodes which passed all tests take work again" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    if (args.length > 0 && options.from === undefined) {
      const { runQualification } = await import("../health/run-qualification.ts");
      return runQualification(context, args, options);
    }
    const { runNodesQualify } = await import("../health/run-nodes-qualify.ts");
    return runNodesQualify(context, options);
  },
});

export const nodesCommand = defineCommand<NodesCommandOptions>({
  name: "nodes",
  summary: "List nodes and their work; show, drain, resume or remove one, or announce that it goes away",
  commands: [showCommand, drainCommand, resumeCommand, removeCommand, noticeCommand, qualifyCommand],
  arguments: [{ syntax: "[node]", description: "show only this node, like `nodes show`", complete: "node" }],
  options: [jsonOption],
  async run(context, { args, options }) {
    const [id] = args;
    if (id !== undefined) return showNode(context, id, options);
    const client = await context.connect();
    const { items, more } = await allPages((cursor, limit) => client.listNodes({ cursor, limit }), NODES_SHOWN_MAX);
    if (options.json === true) {
      context.print(JSON.stringify({ items, more }, null, 2));
      return exitCode.ok;
    }
    const columns = [
      { title: "NODE", minWidth: 8 },
      { title: "POOL", minWidth: 6 },
      { title: "STATE" },
      { title: "TYPE", minWidth: 6 },
      { title: "FREE", align: "right" as const },
      { title: "CORES FREE", align: "right" as const },
      { title: "MEMORY FREE", align: "right" as const },
      { title: "HELD BY", minWidth: 10 },
    ];
    // Few fleets have labels, and few nodes have a notice, so each of these columns is shown only if it has values.
    const hasLabels = items.some(({ labels }) => Object.keys(labels).length > 0);
    const areLeaving = items.some(({ notice }) => notice !== undefined);
    const shown = [
      ...columns,
      ...(areLeaving ? [{ title: "GOES", minWidth: 8 }] : []),
      ...(hasLabels ? [{ title: "LABELS", minWidth: 8 }] : []),
    ];
    const rows = items.map((node) => [
      ...nodeRow(node),
      ...(areLeaving ? [noticeText(node)] : []),
      ...(hasLabels ? [labelsText(node)] : []),
    ]);
    if (items.length === 0) context.note("No nodes yet.");
    else context.print(...tableLines(shown, rows, context.terminal.stdout, context.paint));
    return exitCode.ok;
  },
});

function nodeRow(node: Node): (Cell | string)[] {
  const names = [...new Set(node.holders.map(({ workloadName }) => workloadName))];
  return [
    node.id,
    node.pool,
    stateCell(node),
    node.acceleratorType,
    `${countOf(node.freeAccelerators)}/${node.acceleratorCount}`,
    `${coresText(node.coresFreeMilli)}/${coresText(node.coresMilli)}`,
    `${memoryText(node.memoryFreeMib)}/${memoryText(node.memoryMib)}`,
    [...names, ...(node.foreignUse === undefined ? [] : ["(foreign work)"])].join(" "),
  ];
}

/** The instant and the reason of a notice. */
function noticeText({ notice }: Node): string {
  if (notice === undefined) return "";
  const why = notice.reason === undefined ? "" : ` (${printable(notice.reason)})`;
  return `${instant(notice.goneAtMs)}${why}`;
}

/** `rack=r1 zone=a`. */
const labelsText = ({ labels }: Node): string =>
  Object.keys(labels)
    .toSorted()
    .map((name) => `${name}=${labels[name] ?? ""}`)
    .join(" ");

function stateCell(node: Node): Cell {
  const { phase, health, draining, suspended, hotSpare, acceleratorsChanged, maintenance, qualification } = node;
  if (hotSpare === true) return { text: "hot spare", tone: "green" };
  if (health === "lost") return { text: draining ? "lost, draining" : "lost", tone: "red" };
  if (phase.name === "removing") return { text: "removing", tone: "yellow" };
  if (suspended === true) return { text: "suspended", tone: "yellow" };
  if (acceleratorsChanged === true) return { text: "changing accelerators", tone: "yellow" };
  if (maintenance !== undefined) return { text: draining ? "maintenance, draining" : "maintenance", tone: "yellow" };
  if (draining) return { text: "draining", tone: "yellow" };
  if (qualification?.phase === "failed") return { text: "not qualified", tone: "red" };
  return qualification === undefined ? { text: "up", tone: "green" } : { text: "qualifying", tone: "yellow" };
}

/** Number of indices in a text such as `"0-3,6"`. */
function countOf(ranges: string): number {
  if (ranges === "") return 0;
  return ranges.split(",").reduce((sum, range) => {
    const [first = "", last = first] = range.split("-");
    return sum + Number(last) - Number(first) + 1;
  }, 0);
}
