import type { Policy } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import { defineCommand, jsonOption, type CommandContext } from "../command.ts";
import { printable } from "../terminal.ts";
import { pairLines, tableLines } from "../output/table.ts";

interface PolicyCommandOptions {
  readonly json?: boolean;
  readonly list?: boolean;
  readonly knobs?: boolean;
  readonly dryRun?: boolean;
}

export const policyCommand = defineCommand<PolicyCommandOptions>({
  name: "policy",
  summary: "Show or change the scheduling policy",
  details:
    "A policy file states the settings in YAML or JSON: all of them, or with `base: PRESET` only those that differ.\n" +
    "  base: default\n  name: mine\n  backfill: { protectedStarts: 4 }\n" +
    "To see the next hours under a policy first: headroom what-if --policy FILE",
  arguments: [
    { syntax: "[preset or file]", description: "the policy to activate: a preset, or FILE.yaml", complete: "preset" },
  ],
  options: [
    { flags: "--list", description: "list the presets and exit" },
    { flags: "--dry-run", description: "check the policy and print it in words, without activating it" },
    { flags: "--knobs", description: "list every setting of a policy with its values and meaning" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    if (options.knobs === true) {
      const { knobRows, knobTable } = await import("@headroom/views");
      if (options.json === true) context.print(JSON.stringify({ items: knobRows() }, null, 2));
      else context.print(...knobTable());
      return exitCode.ok;
    }
    const client = await context.connect();
    const [named] = args;
    if (named !== undefined) {
      const { namedPolicy } = await import("../documents/policy-file.ts");
      const chosen = await namedPolicy(named, (await client.presets()).items, context.terminal);
      if (options.dryRun === true) return show(context, chosen, options);
      const answer = await client.setPolicy({ policy: chosen });
      if (options.json === true) context.print(JSON.stringify(answer, null, 2));
      else {
        context.print(`policy ${answer.name}`);
        for (const { message } of answer.warnings ?? []) context.note(`warning: ${printable(message)}`);
      }
      return exitCode.ok;
    }
    if (options.dryRun === true) throw new CliError("--dry-run goes with a preset or a file", exitCode.usage);
    if (options.list === true) {
      const { items } = await client.presets();
      if (options.json === true) context.print(JSON.stringify({ items }, null, 2));
      else context.print(...tableLines(presetColumns, items.map(presetRow), context.terminal.stdout, context.paint));
      return exitCode.ok;
    }
    return show(context, await client.policy(), options);
  },
});

async function show(context: CommandContext, policy: Policy, { json }: PolicyCommandOptions): Promise<ExitCode> {
  if (json === true) context.print(JSON.stringify(policy, null, 2));
  else await printPolicy(context, policy);
  return exitCode.ok;
}

const presetColumns = [
  ...["POLICY", "ORDER", "WHEN THE HEAD IS BLOCKED", "PLACEMENT"].map((title) => ({ title })),
  { title: "ROUND", minWidth: 12 },
];

function presetRow({ name, order, whenHeadBlocked, placement, phases = ["place"] }: Policy): string[] {
  return [
    name,
    order.join(", "),
    whenHeadBlocked,
    typeof placement === "string" ? placement : placement.order,
    phases.join(", "),
  ];
}

/** Prints every section of the policy in words, including defaults. */
async function printPolicy({ print, paint }: CommandContext, policy: Policy): Promise<void> {
  const { policyLines } = await import("@headroom/views");
  const lines = policyLines(policy);
  print(paint("bold", policy.name));
  for (const section of new Set(lines.map((line) => line.section))) {
    const pairs = lines.filter((line) => line.section === section).map(({ knob, text }) => [knob, text] as const);
    print("", paint("bold", section), ...pairLines(pairs, paint).map((line) => `  ${line}`));
  }
}
