import type { Policy } from "@headroom/protocol";
import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption, type CommandContext } from "../command.ts";
import { pairLines, tableLines } from "../output/table.ts";

interface Options {
  readonly json?: boolean;
  readonly list?: boolean;
  readonly knobs?: boolean;
}

export const policyCommand = defineCommand<Options>({
  name: "policy",
  summary: "Show the scheduling policy, or take another preset",
  arguments: [{ syntax: "[preset]", description: "the preset to take from now on", complete: "preset" }],
  options: [
    { flags: "--list", description: "list the presets" },
    { flags: "--knobs", description: "list every knob with its values and its meaning" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    if (options.knobs === true) {
      const { knobTable } = await import("@headroom/views");
      context.print(...knobTable());
      return exitCode.ok;
    }
    const client = await context.connect();
    const [preset] = args;
    if (preset !== undefined) {
      const answer = await client.setPolicy({ preset });
      if (options.json === true) context.print(JSON.stringify(answer, null, 2));
      else context.print(`policy ${answer.name}`);
      return exitCode.ok;
    }
    if (options.list === true) {
      const { items } = await client.presets();
      if (options.json === true) context.print(JSON.stringify({ items }, null, 2));
      else context.print(...tableLines(presetColumns, items.map(presetRow), context.terminal.stdout, context.paint));
      return exitCode.ok;
    }
    const policy = await client.policy();
    if (options.json === true) context.print(JSON.stringify(policy, null, 2));
    else await printPolicy(context, policy);
    return exitCode.ok;
  },
});

const presetColumns = [
  ...["POLICY", "ORDER", "WHEN THE HEAD IS BLOCKED", "PLACEMENT"].map((title) => ({ title })),
  { title: "ROUND", minWidth: 12 },
];

function presetRow({ name, order, whenHeadBlocked, placement, phases = ["place"] }: Policy): string[] {
  return [name, order.join(", "), whenHeadBlocked, placement, phases.join(", ")];
}

/** Every section in words, what the policy leaves out included. */
async function printPolicy({ print, paint }: CommandContext, policy: Policy): Promise<void> {
  const { policyLines } = await import("@headroom/views");
  const lines = policyLines(policy);
  print(paint("bold", policy.name));
  for (const section of new Set(lines.map((line) => line.section))) {
    const pairs = lines.filter((line) => line.section === section).map(({ knob, text }) => [knob, text] as const);
    print("", paint("bold", section), ...pairLines(pairs, paint).map((line) => `  ${line}`));
  }
}
