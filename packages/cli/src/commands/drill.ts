import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { ListDrillsOptions, LoseOptions } from "../drill/run-drill.ts";

const idArgument = { syntax: "<drill>", description: "id of the drill, like d3" } as const;

const loseSubcommand = defineCommand<LoseOptions>({
  name: "lose",
  summary: "Lose a node, switch, rack, power feed, pool or site: simulated, or on test nodes",
  details:
    "Without --real the loss is simulated from the live state on, and nothing is recorded. With --real the nodes take no work for the\n" +
    "time, and running work is stopped and starts elsewhere. All nodes need the label headroom.drills: allowed in their pool's file.\n" +
    "Examples:\n  headroom drill lose leaf-3\n  headroom drill lose rack=r7 feed=a --for 2h --json\n  headroom drill lose leaf-test --real --for 10m",
  arguments: [{ syntax: "<names...>", description: "names of failure domains; rack=r7 where several have the name" }],
  options: [
    { flags: "--for <duration>", description: "time until the nodes return, at most 24h (default: 10m)" },
    { flags: "--real", description: "take the nodes from work, on nodes that are allowed for drills" },
    { flags: "-y, --yes", description: "with --real: do not ask" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { loseInDrill } = await import("../drill/run-drill.ts");
    return loseInDrill(context, args, options);
  },
});

const listSubcommand = defineCommand<ListDrillsOptions>({
  name: "list",
  summary: "List drills on test nodes, the newest first",
  options: [{ flags: "--csv", description: "print comma-separated values" }, jsonOption],
  async run(context, { options }) {
    const { listDrills } = await import("../drill/run-drill.ts");
    return listDrills(context, options);
  },
});

const showSubcommand = defineCommand<{ readonly json?: boolean }>({
  name: "show",
  summary: "Show a drill: expected and observed effects",
  arguments: [idArgument],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { showDrill } = await import("../drill/run-drill.ts");
    return showDrill(context, args[0] ?? "", options);
  },
});

const cancelSubcommand = defineCommand<object>({
  name: "cancel",
  summary: "End a drill now: its nodes take work again",
  arguments: [idArgument],
  async run(context, { args }) {
    const { cancelDrill } = await import("../drill/run-drill.ts");
    return cancelDrill(context, args[0] ?? "");
  },
});

export const drillCommand = defineCommand({
  name: "drill",
  summary: "Try out the loss of a failure domain",
  commands: [loseSubcommand, listSubcommand, showSubcommand, cancelSubcommand],
  run() {
    return Promise.reject(new CliError("drill needs a command: headroom drill lose leaf-3", exitCode.usage));
  },
});
