/** `headroom proposal`: changes that one user asks for and another decides. */
import type { Proposal, ProposalKind, ProposalRuleInput } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { limitOf } from "../listing-options.ts";
import { instant, plural } from "../output/amounts.ts";
import { pairLines, tableLines } from "../output/table.ts";
import { allPages } from "../resolve-workload.ts";
import { printable } from "../terminal.ts";
import { proposalKindNames } from "./proposal-kinds.ts";
import { changeOf, durationOf, wholeNumber } from "./proposal-options.ts";
import type { ChangeOptions } from "./proposal-options.ts";

export interface ListProposalsOptions {
  readonly all?: boolean;
  readonly limit?: string;
  readonly json?: boolean;
}

export interface DecideOptions {
  readonly reason?: string;
  readonly json?: boolean;
}

export interface CreateProposalOptions extends ChangeOptions, DecideOptions {}

export interface RuleOptions {
  readonly mode?: string;
  readonly ownApproval?: string;
  readonly perHour?: string;
  readonly poolPercent?: string;
  readonly expiresAfter?: string;
  readonly json?: boolean;
}

export async function listProposals(context: CommandContext, options: ListProposalsOptions): Promise<ExitCode> {
  const limit = limitOf(options.limit);
  const client = await context.connect();
  const { items, more } = await allPages(
    (cursor, size) => client.listProposals({ all: options.all, cursor, limit: size }),
    limit,
  );
  if (options.json === true) context.print(JSON.stringify({ items, more }, null, 2));
  else if (items.length === 0) context.note("No proposal is open. Create one with `headroom proposal create`.");
  else {
    const { proposedChangeText } = await import("@headroom/views/text");
    const rows = items.map((each) => [
      each.id,
      each.phase,
      printable(each.agent === undefined ? each.actor : `${each.actor} (${each.agent})`),
      instant(each.expiresAtMs),
      printable(proposedChangeText(each.change as Parameters<typeof proposedChangeText>[0])),
    ]);
    const titles = [
      { title: "PROPOSAL" },
      { title: "PHASE" },
      { title: "BY" },
      { title: "EXPIRES" },
      { title: "CHANGE", minWidth: 20 },
    ];
    context.print(...tableLines(titles, rows, context.terminal.stdout, context.paint));
  }
  if (more) context.note(`There are more than ${plural(items.length, "proposal")}: use --limit.`);
  return exitCode.ok;
}

export async function showProposal(
  context: CommandContext,
  id: string,
  { json }: { readonly json?: boolean },
): Promise<ExitCode> {
  const client = await context.connect();
  return printed(context, await client.getProposal(id), json);
}

export async function createProposal(
  context: CommandContext,
  [kind, name]: readonly string[],
  options: CreateProposalOptions,
): Promise<ExitCode> {
  const { reason } = options;
  if (reason === undefined)
    throw new CliError("state why: --reason TEXT. It is shown to the user who decides.", exitCode.usage);
  const change = await changeOf(kind ?? "", name, options);
  const client = await context.connect();
  return printed(context, await client.createProposal({ change, reason }), options.json);
}

export async function decideProposal(
  context: CommandContext,
  id: string,
  verdict: "approve" | "reject" | "withdraw" | "simulate",
  { reason, json }: DecideOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const stated = reason === undefined ? {} : { reason };
  if (verdict === "simulate") return printed(context, await client.simulateProposal(id), json);
  if (verdict === "withdraw") return printed(context, await client.withdrawProposal(id, stated), json);
  return printed(context, await client.decideProposal(id, { verdict, ...stated }), json);
}

function printed({ print, paint, terminal }: CommandContext, proposal: Proposal, json: boolean | undefined): ExitCode {
  if (json === true) {
    print(JSON.stringify(proposal, null, 2));
    return exitCode.ok;
  }
  const { id, reason, effectSentence, ground, steps, expiresAtMs, effect } = proposal;
  const grounds = ground.map(({ measure, value, unit }) => `${measure} ${value}${unit === "" ? "" : ` ${unit}`}`);
  const pairs: (readonly [string, string])[] = [
    ["reason", printable(reason)],
    ...(grounds.length === 0 ? [] : [["ground", printable(grounds.join(", "))] as const]),
    ["effect", printable(effectSentence ?? `not simulated yet: headroom proposal simulate ${id}`)],
    ...(effect?.teams ?? []).map(
      ({ team, earlierCount, laterCount, interruptedCount }) =>
        [team, `${earlierCount} earlier, ${laterCount} later, ${interruptedCount} interrupted`] as const,
    ),
    ["expires", instant(expiresAtMs)],
  ];
  print(paint("bold", id), printable(proposal.sentence), ...pairLines(pairs, paint), "");
  const rows = steps.map((step) => [
    instant(step.atMs),
    step.phase,
    step.actor ?? "(headroom)",
    printable(step.reason),
  ]);
  const titles = [{ title: "STEP" }, { title: "PHASE" }, { title: "BY" }, { title: "REASON", minWidth: 10 }];
  print(...tableLines(titles, rows, terminal.stdout, paint));
  return exitCode.ok;
}

export async function proposalRule(
  context: CommandContext,
  kind: string | undefined,
  options: RuleOptions,
): Promise<ExitCode> {
  const changes = await ruleChanges(options);
  const client = await context.connect();
  if (Object.keys(changes).length > 0) await client.setProposalRule(kindOf(kind), changes);
  const { items } = await client.proposalRules();
  const shown = kind === undefined ? items : items.filter((each) => each.kind === kindOf(kind));
  if (options.json === true) {
    context.print(JSON.stringify({ items: shown }, null, 2));
    return exitCode.ok;
  }
  const { durationText, proposalRuleText } = await import("@headroom/views/text");
  const rows = shown.map((rule) => [rule.kind, rule.mode, durationText(rule.expiresAfterMs), proposalRuleText(rule)]);
  const titles = [{ title: "KIND" }, { title: "MODE" }, { title: "EXPIRES AFTER" }, { title: "RULE", minWidth: 20 }];
  context.print(...tableLines(titles, rows, context.terminal.stdout, context.paint));
  return exitCode.ok;
}

function kindOf(text: string | undefined): ProposalKind {
  const found = proposalKindNames.find((each) => each === text);
  if (found !== undefined) return found;
  throw new CliError(`state the kind: one of ${proposalKindNames.join(", ")}`, exitCode.usage);
}

const modes = ["advise", "approve", "automatic"] as const;

async function ruleChanges({
  mode,
  ownApproval,
  perHour,
  poolPercent,
  expiresAfter,
}: RuleOptions): Promise<ProposalRuleInput> {
  const chosen = modes.find((each) => each === mode);
  if (mode !== undefined && chosen === undefined)
    throw new CliError(`--mode must be one of ${modes.join(", ")}, got ${mode}`, exitCode.usage);
  if (ownApproval !== undefined && ownApproval !== "yes" && ownApproval !== "no")
    throw new CliError(`--own-approval must be yes or no, got ${ownApproval}`, exitCode.usage);
  return {
    ...(chosen === undefined ? {} : { mode: chosen }),
    ...(ownApproval === undefined ? {} : { ownApproval: ownApproval === "yes" }),
    ...(perHour === undefined ? {} : { perHourMax: wholeNumber(perHour, "--per-hour") }),
    ...(poolPercent === undefined ? {} : { poolPercentPerHourMax: wholeNumber(poolPercent, "--pool-percent") }),
    ...(expiresAfter === undefined
      ? {}
      : { expiresAfterMs: await durationOf(expiresAfter, "--expires-after", 60_000) }),
  };
}
