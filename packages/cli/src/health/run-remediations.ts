/** `headroom drift`: remediations of drift on live nodes, their proposals and their waves. */
import type { DriftCheck, RemediationRun } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { instant, plural } from "../output/amounts.ts";
import { csvLines } from "../output/csv.ts";
import { pairLines, tableLines } from "../output/table.ts";
import { nodesOf } from "../proposal/proposal-options.ts";
import { printable } from "../terminal.ts";

export interface DriftOutputOptions {
  readonly json?: boolean;
  readonly csv?: boolean;
}

export interface RemediateOptions {
  readonly nodes?: string;
  readonly reason?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

const REASON_CHARS_MAX = 200;

type Rows = readonly (readonly string[])[];

function printRows(context: CommandContext, titles: readonly string[], rows: Rows, csv = false): void {
  const { print, terminal, paint } = context;
  if (csv) return print(...csvLines([...titles], rows));
  const columns = titles.map((title) => ({ title: title.toUpperCase() }));
  const shown = rows.map((row) => row.map((cell) => printable(cell)));
  print(...tableLines(columns, shown, terminal.stdout, paint));
}

export async function listRemediations(
  context: CommandContext,
  { json = false, csv = false }: DriftOutputOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const list = await client.listRemediations();
  if (json) context.print(JSON.stringify(list, null, 2));
  else {
    if (list.problem !== null) context.note(printable(list.problem));
    if (list.items.length === 0 && !csv)
      context.note("No remediation is declared. docs/how-to/remedy-drift.md shows how.");
    else {
      const rows = list.items.map(({ name, pools, mode, canary, wave, desired, change, lastCheck }) => [
        name,
        pools.join(" "),
        mode,
        `${canary}, then ${wave}`,
        lastCheck === null ? "-" : `${lastCheck.nodes.length} of ${lastCheck.nodeCount}`,
        Object.entries(desired)
          .map(([fact, value]) => `${fact}=${value}`)
          .join(" "),
        change,
      ]);
      printRows(context, ["name", "pools", "mode", "waves", "drifting", "desired", "change"], rows, csv);
    }
  }
  return exitCode.ok;
}

export async function checkRemediation(
  context: CommandContext,
  name: string,
  { json = false, csv = false }: DriftOutputOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const check = await client.checkRemediation(name);
  if (json) context.print(JSON.stringify(check, null, 2));
  else printCheck(context, check, csv);
  return exitCode.ok;
}

function printCheck(context: CommandContext, { nodes, nodeCount }: DriftCheck, csv: boolean): void {
  const rows = nodes.flatMap(({ nodeId, deviations, problem }) =>
    problem === null
      ? deviations.map(({ fact, value, expected }) => [nodeId, fact, value ?? "(absent)", expected])
      : [[nodeId, "-", problem, "-"]],
  );
  if (csv || rows.length > 0) printRows(context, ["node", "fact", "value", "expected"], rows, csv);
  if (!csv) context.note(`${nodes.length} of ${plural(nodeCount, "node")} differ or could not be read.`);
}

export async function remediate(
  context: CommandContext,
  name: string,
  { nodes, reason, dryRun = false, json = false }: RemediateOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const check = nodes === undefined ? await client.checkRemediation(name) : null;
  const differing = check?.nodes.filter(({ problem }) => problem === null) ?? [];
  const nodeIds = check === null ? nodesOf(nodes) : differing.map(({ nodeId }) => nodeId);
  if (check !== null && !json) printCheck(context, check, false);
  if (nodeIds.length === 0 || dryRun) {
    if (json) context.print(JSON.stringify({ remediation: name, nodeIds, check }, null, 2));
    else context.note(nodeIds.length === 0 ? "No node differs, so nothing is proposed." : "Nothing was proposed.");
    return exitCode.ok;
  }
  const facts = [...new Set(differing.flatMap(({ deviations }) => deviations.map(({ fact }) => fact)))];
  const grounds = facts.length === 0 ? `remediation ${name}` : `nodes differ in ${facts.join(", ")}`;
  const proposal = await client.createProposal({
    change: { kind: "remediate", remediation: name, nodeIds },
    reason: reason ?? grounds.slice(0, REASON_CHARS_MAX),
  });
  if (json) context.print(JSON.stringify(proposal, null, 2));
  else {
    context.print(printable(proposal.sentence), printable(proposal.effectSentence ?? ""));
    context.note(
      `another user approves: headroom proposal approve ${proposal.id}; headroom drift waves shows the progress`,
    );
  }
  return exitCode.ok;
}

export async function showWaves(
  context: CommandContext,
  id: string | undefined,
  { json = false, csv = false }: DriftOutputOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  if (id === undefined) {
    const { items } = await client.listRemediationRuns();
    if (json) context.print(JSON.stringify({ items }, null, 2));
    else if (items.length === 0 && !csv) context.note("There was no run. headroom drift remediate NAME proposes one.");
    else printRows(context, ["run", "remediation", "phase", "since", "nodes", "reason"], items.map(runRow), csv);
    return exitCode.ok;
  }
  const run = await client.getRemediationRun(id);
  if (json) context.print(JSON.stringify(run, null, 2));
  else printRun(context, run, csv);
  return exitCode.ok;
}

const count = ({ nodes }: RemediationRun, ...phases: readonly string[]): number =>
  nodes.filter(({ phase }) => phases.includes(phase)).length;

const runRow = (run: RemediationRun): readonly string[] => [
  run.id,
  run.remediation,
  run.phase,
  instant(run.startedAtMs),
  `${count(run, "returned", "asDesired")} of ${run.nodes.length}`,
  run.reason === "" ? run.waitsFor : run.reason,
];

function printRun(context: CommandContext, run: RemediationRun, csv: boolean): void {
  const rows = run.nodes.map(({ nodeId, wave, phase, sinceMs, before, after, detail }) => [
    nodeId,
    wave === 0 ? "canary" : String(wave),
    phase,
    instant(sinceMs),
    before === null ? "-" : String(before),
    after === null ? "-" : String(after),
    detail,
  ]);
  if (!csv) {
    const by = run.approvedBy === null ? "the rule of its kind" : run.approvedBy;
    const until = run.endedAtMs === null ? "" : `, ended ${instant(run.endedAtMs)}`;
    const pairs: readonly (readonly [string, string])[] = [
      ["run", printable(`${run.id}, remediation ${run.remediation}, ${run.phase}`)],
      ["approved", printable(`${by}, begun ${instant(run.startedAtMs)}${until}`)],
      [
        "nodes",
        `${count(run, "returned", "asDesired")} of ${run.nodes.length} as desired, ${count(run, "failed")} failed`,
      ],
      ...(run.reason === "" ? [] : [["reason", printable(run.reason)] as const]),
      ...(run.waitsFor === "" ? [] : [["waits for", printable(run.waitsFor)] as const]),
    ];
    context.print(...pairLines([...pairs], context.paint), "");
  }
  printRows(context, ["node", "wave", "phase", "since", "before", "after", "detail"], rows, csv);
}

export async function cancelWaves(
  context: CommandContext,
  id: string,
  { json = false }: { readonly json?: boolean },
): Promise<ExitCode> {
  if (id === "") throw new CliError("state the run: headroom drift cancel p12", exitCode.usage);
  const client = await context.connect();
  const run = await client.cancelRemediationRun(id);
  if (json) context.print(JSON.stringify(run, null, 2));
  else context.print(`No further node of ${run.id} is changed. Nodes that were begun are proven and return.`);
  return exitCode.ok;
}
