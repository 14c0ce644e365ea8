import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { limitOption } from "../listing-options.ts";
import { proposalKindNames } from "../proposal/proposal-kinds.ts";
import type {
  CreateProposalOptions,
  DecideOptions,
  ListProposalsOptions,
  RuleOptions,
} from "../proposal/run-proposal.ts";

const idArgument = { syntax: "<id>", description: "id of the proposal" } as const;
const reasonOption = { flags: "--reason <text>", description: "reason, which is recorded (default: none)" };

const listSubcommand = defineCommand<ListProposalsOptions>({
  name: "list",
  summary: "List proposals that wait for a decision or for their score",
  options: [
    { flags: "--all", description: "also proposals that are over, as far as they are kept" },
    limitOption,
    jsonOption,
  ],
  async run(context, { options }) {
    const { listProposals } = await import("../proposal/run-proposal.ts");
    return listProposals(context, options);
  },
});

const showSubcommand = defineCommand<{ readonly json?: boolean }>({
  name: "show",
  summary: "Show a proposal, its simulated effect on everybody, and its steps",
  arguments: [idArgument],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { showProposal } = await import("../proposal/run-proposal.ts");
    return showProposal(context, args[0] ?? "", options);
  },
});

const createSubcommand = defineCommand<CreateProposalOptions>({
  name: "create",
  summary: "Propose a change and simulate its effect",
  details: `The change is made when another user has approved it.

Examples:
  headroom proposal create quota research --limit accelerators=64 --reason "paper deadline"
  headroom proposal create priority w12 --priority 100 --reason "demo on Friday"
  headroom proposal create drain n7 --requeue --reason "Xid 79 twice today"
  headroom proposal create order h100-spring --pool h100 --nodes 4 --lead-time 8w..12w --reason "use is at 93%"
  headroom proposal create defragment --migrations 5 --reason "no empty node is left"`,
  arguments: [
    {
      syntax: "<kind>",
      description:
        "quota, priority, drain, defragment, resume, restart, spares, request, order, advice, remediate or alias",
      complete: proposalKindNames,
    },
    {
      syntax: "[name]",
      description:
        "the team, workload id, node, pool, new order, remediation, alias or subject that the change is about",
    },
  ],
  options: [
    {
      flags: "--guarantee <resource=amount>",
      description:
        "of quota: new guarantee, like accelerators=64 or H100-SXM=none; can be repeated (default: as it is)",
      repeatable: true,
    },
    {
      flags: "--limit <resource=amount>",
      description: "of quota: new limit; can be repeated (default: as it is)",
      repeatable: true,
    },
    {
      flags: "--user-limit <resource=amount>",
      description: "of quota: new limit for each user of the team; can be repeated (default: as it is)",
      repeatable: true,
    },
    { flags: "--weight <number>", description: "of quota: new weight (default: as it is)" },
    { flags: "--priority <number>", description: "of priority: new priority of the workload (default: none)" },
    { flags: "--requeue", description: "of drain: stop running work and queue it again" },
    { flags: "--migrations <count>", description: "of defragment: the most migrations (default: 10)" },
    { flags: "--spares <count>", description: "of spares: number of hot spares of the pool (default: none)" },
    { flags: "--walltime <duration>", description: "of request: new walltime (default: as it is)" },
    { flags: "--workers <count>", description: "of request: new number of workers (default: as it is)" },
    { flags: "--min-workers <count>", description: "of request: new minimum of an elastic gang (default: as it is)" },
    { flags: "--number <number>", description: "of alias: version to which it is to point (required for it)" },
    { flags: "--remove", description: "of alias: remove it" },
    { flags: "--pool <pool>", description: "of order: pool of the nodes (required for it)" },
    {
      flags: "--nodes <nodes>",
      description: "of order: their number; of remediate: their names, like n7,n8 (required)",
    },
    {
      flags: "--lead-time <p50..p95>",
      description: "of order: time to arrival, like 8w..12w (required for it)",
    },
    { flags: "--price <usd>", description: "of order: like 2400000, or 2.10/h per accelerator (default: none)" },
    { flags: "--text <text>", description: "of advice: the step that people should take (required for it)" },
    { flags: "--reason <text>", description: "reason, which is recorded (required)" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { createProposal } = await import("../proposal/run-proposal.ts");
    return createProposal(context, args, options);
  },
});

const decision = (name: "approve" | "reject" | "withdraw" | "simulate", summary: string) =>
  defineCommand<DecideOptions>({
    name,
    summary,
    arguments: [idArgument],
    options: name === "simulate" ? [jsonOption] : [reasonOption, jsonOption],
    async run(context, { args, options }) {
      const { decideProposal } = await import("../proposal/run-proposal.ts");
      return decideProposal(context, args[0] ?? "", name, options);
    },
  });

const ruleSubcommand = defineCommand<RuleOptions>({
  name: "rule",
  summary: "Show or set who approves proposals of a kind, and their budget of change",
  details: `Without options, the command shows the rules.

Examples:
  headroom proposal rule
  headroom proposal rule drain --mode automatic --per-hour 4 --pool-percent 10`,
  arguments: [
    {
      syntax: "[kind]",
      description:
        "quota, priority, drain, defragment, resume, restart, spares, request, order, advice or remediate (default: all)",
      complete: proposalKindNames,
    },
  ],
  options: [
    {
      flags: "--mode <mode>",
      description: "advise, approve, or automatic: approved once simulated (default: as it is)",
      complete: ["advise", "approve", "automatic"],
    },
    {
      flags: "--own-approval <yes or no>",
      description: "whether users may approve what they proposed (default: as it is)",
      complete: ["yes", "no"],
    },
    { flags: "--per-hour <count>", description: "the most such changes within an hour (default: as it is)" },
    {
      flags: "--pool-percent <percent>",
      description: "of drain: the most nodes of a pool within an hour, one at least (default: as it is)",
    },
    { flags: "--expires-after <duration>", description: "time in which a decision must fall (default: as it is)" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { proposalRule } = await import("../proposal/run-proposal.ts");
    return proposalRule(context, args[0], options);
  },
});

export const proposalCommand = defineCommand({
  name: "proposal",
  summary: "Propose changes of quota, priority or nodes, see their simulated effect, and decide",
  commands: [
    listSubcommand,
    showSubcommand,
    createSubcommand,
    decision("approve", "Approve a simulated proposal: its change is made at once"),
    decision("reject", "Reject a proposal"),
    decision("withdraw", "Withdraw a proposal of your own"),
    decision("simulate", "Simulate the effect again, from the present state"),
    ruleSubcommand,
  ],
  run() {
    return Promise.reject(new CliError("proposal needs a command: headroom proposal list", exitCode.usage));
  },
});
