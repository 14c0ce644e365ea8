/** `headroom health policy`: the rules of all kinds of changes as one document. */
import type { ProposalKind, ProposalRule, ProposalRuleInput } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { fileText } from "../input/file-chunks.ts";
import { tableLines } from "../output/table.ts";
import { proposalKindNames } from "../proposal/proposal-kinds.ts";
import { durationOf } from "../proposal/proposal-options.ts";

export interface HealthPolicyOptions {
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

const BYTES_MAX = 1 << 20;

interface KindRule {
  readonly kind: ProposalKind;
  readonly changes: ProposalRuleInput;
}

export async function runHealthPolicy(
  context: CommandContext,
  file: string | undefined,
  { dryRun, json }: HealthPolicyOptions,
): Promise<ExitCode> {
  const wanted = file === undefined ? [] : await rulesIn(await fileText(context, file, BYTES_MAX), file);
  const client = await context.connect();
  const { items: before } = await client.proposalRules();
  if (file === undefined) return printed(context, before, json);
  const changing = wanted.filter(({ kind, changes }) => differs(before, kind, changes));
  if (dryRun !== true) for (const { kind, changes } of changing) await client.setProposalRule(kind, changes);
  const after = before.map((rule): ProposalRule => {
    const { changes } = changing.find(({ kind }) => kind === rule.kind) ?? { changes: {} };
    return { ...rule, ...stated(changes) };
  });
  const kinds = new Set(changing.map(({ kind }) => kind));
  const changed = after.filter(({ kind }) => kinds.has(kind));
  if (json === true) context.print(JSON.stringify({ dryRun: dryRun === true, changed }, null, 2));
  else if (changed.length === 0) context.print("The rules are as the file says.");
  else {
    const { proposalRuleText } = await import("@headroom/views/text");
    const rows = changed.map((rule) => [rule.kind, rule.mode, proposalRuleText(rule)]);
    const titles = [
      { title: dryRun === true ? "WOULD CHANGE" : "CHANGED" },
      { title: "MODE" },
      { title: "RULE", minWidth: 20 },
    ];
    context.print(...tableLines(titles, rows, context.terminal.stdout, context.paint));
  }
  return exitCode.ok;
}

const stated = (changes: ProposalRuleInput): Partial<ProposalRule> =>
  Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));

const differs = (rules: readonly ProposalRule[], kind: ProposalKind, changes: ProposalRuleInput): boolean => {
  const rule = rules.find((each) => each.kind === kind);
  return Object.entries(stated(changes)).some(([field, value]) => rule?.[field as keyof ProposalRule] !== value);
};

async function printed(
  { print }: CommandContext,
  rules: readonly ProposalRule[],
  json: boolean | undefined,
): Promise<ExitCode> {
  if (json === true) {
    print(JSON.stringify({ items: rules }, null, 2));
    return exitCode.ok;
  }
  const [{ stringify }, { writeDuration }] = await Promise.all([import("yaml"), import("@headroom/protocol")]);
  const fields = Object.fromEntries(
    rules.map(({ kind, mode, ownApproval, expiresAfterMs, perHourMax, poolPercentPerHourMax }) => [
      kind,
      {
        mode,
        perHour: perHourMax,
        ...(kind === "drain" ? { poolPercent: poolPercentPerHourMax } : {}),
        ownApproval,
        expiresAfter: writeDuration(expiresAfterMs),
      },
    ]),
  );
  print(stringify({ kind: "changePolicy", rules: fields }).trimEnd());
  return exitCode.ok;
}

async function rulesIn(text: string, file: string): Promise<readonly KindRule[]> {
  const { parse } = await import("yaml");
  let document: unknown;
  try {
    document = parse(text, { maxAliasCount: 0 });
  } catch (error) {
    throw new CliError(
      `${file} is not YAML: ${error instanceof Error ? error.message : String(error)}`,
      exitCode.usage,
    );
  }
  const { kind, rules, ...others } = mapping(document, file);
  if (kind !== "changePolicy" || Object.keys(others).length > 0)
    throw new CliError(
      `${file}: expected kind: changePolicy and rules, as headroom health policy prints`,
      exitCode.usage,
    );
  return Promise.all(
    Object.entries(mapping(rules, `${file}: rules`)).map(async ([name, value]) => {
      const known = proposalKindNames.find((each) => each === name);
      if (known === undefined)
        throw new CliError(`${file}: ${name} is not one of ${proposalKindNames.join(", ")}`, exitCode.usage);
      return { kind: known, changes: await changesIn(mapping(value, `${file}: ${name}`), `${file}: ${name}`) };
    }),
  );
}

function mapping(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new CliError(`${where} must be a mapping`, exitCode.usage);
}

const modes = ["advise", "approve", "automatic"] as const;

async function changesIn(fields: Readonly<Record<string, unknown>>, where: string): Promise<ProposalRuleInput> {
  const { mode, perHour, poolPercent, ownApproval, expiresAfter, ...others } = fields;
  const [unknown] = Object.keys(others);
  const wrong = (field: string, expected: string): CliError =>
    new CliError(`${where}.${field} must be ${expected}`, exitCode.usage);
  if (unknown !== undefined) throw wrong(unknown, "one of mode, perHour, poolPercent, ownApproval, expiresAfter");
  const chosen = modes.find((each) => each === mode);
  if (mode !== undefined && chosen === undefined) throw wrong("mode", modes.join(", "));
  if (perHour !== undefined && !isCount(perHour, 1_000)) throw wrong("perHour", "a whole number of at most 1,000");
  if (poolPercent !== undefined && !isCount(poolPercent, 100)) throw wrong("poolPercent", "a percentage, 0 to 100");
  if (ownApproval !== undefined && typeof ownApproval !== "boolean") throw wrong("ownApproval", "true or false");
  if (expiresAfter !== undefined && typeof expiresAfter !== "string") throw wrong("expiresAfter", "a duration like 1d");
  return {
    mode: chosen,
    perHourMax: perHour,
    poolPercentPerHourMax: poolPercent,
    ownApproval,
    expiresAfterMs:
      expiresAfter === undefined ? undefined : await durationOf(expiresAfter, `${where}.expiresAfter`, 60_000),
  };
}

const isCount = (value: unknown, most: number): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= most;
