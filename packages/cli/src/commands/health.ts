import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { HealthFindingsOptions } from "../health/run-health-findings.ts";
import type { HealthPolicyOptions } from "../health/run-health-policy.ts";
import type { HealthPeersOptions } from "../health/run-health-peers.ts";
import type { HealthFleetOptions } from "../health/run-health-fleet.ts";
import type { HealthLinksOptions } from "../health/run-health-links.ts";
import type { HealthHoursOptions } from "../health/run-health-hours.ts";
import type { HealthReadOptions } from "../health/run-health-read.ts";
import type { HealthSlowOptions } from "../health/run-health-slow.ts";
import type { HealthSparesOptions } from "../health/run-health-spares.ts";

const readCommand = defineCommand<HealthReadOptions>({
  name: "read",
  summary: "Find faults in a log: GPUs, links, memory, storage, kernel",
  details: `FILE is a log of the kernel, the system or a vendor's tool: dmesg, journalctl, syslog, container logs as JSON, nvidia-smi -q,
dcgmi, ipmitool sel. - reads the standard input. Each finding has a code such as xid-79, a device, a severity, the line, and the
action that the vendor advises. docs/how-to/read-faults.md lists the codes.

Examples:
  dmesg -T | headroom health read -
  journalctl -k -o json | headroom health read - --json`,
  arguments: [{ syntax: "<file>", description: "log file; -: standard input", complete: "file" }],
  options: [
    {
      flags: "--report <node>",
      description: "also report the faults for this node, at most 100 different ones (default: report none)",
    },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { runHealthRead } = await import("../health/run-health-read.ts");
    return runHealthRead(context, args[0] ?? "", options);
  },
});

const sparesCommand = defineCommand<HealthSparesOptions>({
  name: "spares",
  summary: "Size the spare nodes of a fleet from its recorded faults",
  details: `FILE is a JSON array of events: node_id, event_time (days), event_type (fault_start or fault_end), fault_type. The model is fitted
on the first days; the rest of the file, if any, is only compared with the forecast. docs/how-to/size-spares.md explains the model.

Example:
  headroom health spares faults.json --fit-days 105 --json`,
  arguments: [{ syntax: "<file>", description: "JSON file with faults; -: standard input", complete: "file" }],
  options: [
    { flags: "--fit-days <days>", description: "days from the start of the file to fit the model on (required)" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { runHealthSpares } = await import("../health/run-health-spares.ts");
    return runHealthSpares(context, args[0] ?? "", options);
  },
});

const slowCommand = defineCommand<HealthSlowOptions>({
  name: "slow",
  summary: "Name the slow nodes in recorded step times",
  details: `FILE has a JSON object in each line: set (the workload, or nodes that do the same work), step, node, and seconds, the time that the
node worked on the step without waiting for others; the rows of a set are in order of steps. A node is named that is slower than
the median of its peers for longer than noise explains. docs/how-to/find-slow-nodes.md explains the test.

Example:
  headroom health slow steps.jsonl --json`,
  arguments: [{ syntax: "<file>", description: "step times as JSON lines; -: standard input", complete: "file" }],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { runHealthSlow } = await import("../health/run-health-slow.ts");
    return runHealthSlow(context, args[0] ?? "", options);
  },
});

const peersCommand = defineCommand<HealthPeersOptions>({
  name: "peers",
  summary: "Name nodes and accelerators whose readings differ from those of their comparable set",
  details: `Compared are the means of about the last hour of the values that exporters and the vendors' tools report (temperatures, power and clocks
of busy accelerators, errors, throttling), within one pool and type of accelerator.
docs/how-to/find-slow-nodes.md explains the comparison.`,
  options: [jsonOption],
  async run(context, { options }) {
    const { runHealthPeers } = await import("../health/run-health-peers.ts");
    return runHealthPeers(context, options);
  },
});

const linksCommand = defineCommand<HealthLinksOptions>({
  name: "links",
  summary: "Name slow links: adapters of nodes, uplinks of leaves and pairs of nodes",
  details: `Compared are the pairs of nodes that the suite of their qualification measured (network-throughput/PEER, network-latency/PEER) with
the other pairs of the pool within a leaf or across leaves. docs/how-to/find-slow-nodes.md explains the comparison.

Examples:
  headroom health links
  headroom health links --csv > links.csv`,
  options: [{ flags: "--csv", description: "print CSV" }, jsonOption],
  async run(context, { options }) {
    const { runHealthLinks } = await import("../health/run-health-links.ts");
    return runHealthLinks(context, options);
  },
});

const fleetCommand = defineCommand<HealthFleetOptions>({
  name: "fleet",
  summary: "Show the fleet in short: nodes by phase, incidents, faults, failure domains and their work",
  options: [jsonOption],
  async run(context, { options }) {
    const { runHealthFleet } = await import("../health/run-health-fleet.ts");
    return runHealthFleet(context, options);
  },
});

const hoursCommand = defineCommand<HealthHoursOptions>({
  name: "hours",
  summary: "Show allocated accelerator-hours by cause: compute, communication, I/O, idle, failure, restart, waiting",
  details: `By default the last seven days. The causes of a line add up to its allocated time exactly. Used time is divided by the parts of
a step that attempts report (computeSeconds, networkSeconds, storageSeconds); without them it is "unmeasured".

Examples:
  headroom health hours --group team
  headroom health hours --since 2026-11-01 --until 2026-12-01 --json`,
  options: [
    {
      flags: "--group <field>",
      description: "team, pool, acceleratorType, workload or workloadKind (default: one line)",
    },
    { flags: "--since <instant>", description: "day (UTC) such as 2026-11-01, or instant (default: seven days ago)" },
    { flags: "--until <instant>", description: "day (UTC) or instant (default: now)" },
    { flags: "--csv", description: "print CSV" },
    jsonOption,
  ],
  async run(context, { options }) {
    const { runHealthHours } = await import("../health/run-health-hours.ts");
    return runHealthHours(context, options);
  },
});

const findingsCommand = defineCommand<HealthFindingsOptions>({
  name: "findings",
  summary:
    "List what a change of the fleet answers: faulty and slow nodes, stalled work, spares, checkpoints, requests, power",
  details: `Each finding becomes a proposal. Open at a time are at most 20 repairs, 8 changes of sizes and 8 pieces of advice. The rule of its kind decides: headroom health policy.

Example:
  headroom health findings --json`,
  options: [{ flags: "--csv", description: "print CSV" }, jsonOption],
  async run(context, { options }) {
    const { runHealthFindings } = await import("../health/run-health-findings.ts");
    return runHealthFindings(context, options);
  },
});

const policyCommand = defineCommand<HealthPolicyOptions>({
  name: "policy",
  summary: "Show or set which changes of the fleet are advised, approved or automatic, and their budgets",
  details: `Without FILE, the command prints the present rules as such a file. FILE is YAML:

  kind: changePolicy
  rules:
    drain: { mode: automatic, perHour: 4, poolPercent: 10, expiresAfter: 1d }
    restart: { mode: approve, ownApproval: false }

Kinds and fields that the file leaves out stay as they are. docs/how-to/act-on-findings.md explains the rules.

Examples:
  headroom health policy > change-policy.yaml
  headroom health policy change-policy.yaml --dry-run`,
  arguments: [{ syntax: "[file]", description: "file with rules; -: standard input", complete: "file" }],
  options: [{ flags: "--dry-run", description: "show what would change and set nothing" }, jsonOption],
  async run(context, { args, options }) {
    const { runHealthPolicy } = await import("../health/run-health-policy.ts");
    return runHealthPolicy(context, args[0], options);
  },
});

interface HealthOptions {
  readonly json?: boolean;
}

export const healthCommand = defineCommand<HealthOptions>({
  name: "health",
  summary: "Ask whether the control plane takes commands; find faults and slow nodes, size spares",
  details: "For health checks of containers and services. It asks /readyz, needs no token, and exits with 0 or 1.",
  commands: [
    fleetCommand,
    peersCommand,
    linksCommand,
    hoursCommand,
    findingsCommand,
    policyCommand,
    readCommand,
    slowCommand,
    sparesCommand,
  ],
  options: [jsonOption],
  async run(context, { options }) {
    const { readinessOf } = await import("../connection.ts");
    const { status, reasons } = await readinessOf(context.terminal, context);
    if (options.json === true) context.print(JSON.stringify({ status, reasons }, null, 2));
    else context.print(status, ...reasons.map(({ code, detail }) => `  ${code}: ${detail}`));
    return status === "ready" ? exitCode.ok : exitCode.failed;
  },
});
