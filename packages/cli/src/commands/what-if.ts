import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";

interface WhatIfCommandOptions {
  readonly lose?: readonly string[];
  readonly add?: readonly string[];
  readonly addPool?: readonly string[];
  readonly addSite?: readonly string[];
  readonly order?: readonly string[];
  readonly cap?: readonly string[];
  readonly policy?: string;
  readonly file?: readonly string[];
  readonly hours?: string;
  readonly arrivals?: string;
  readonly json?: boolean;
}

const HOUR_MS = 3_600_000;

export const whatIfCommand = defineCommand<WhatIfCommandOptions>({
  name: "what-if",
  summary: "Forecast the next hours with a change",
  details:
    "The scheduler is simulated twice from its present state, without and with the change. Nothing is recorded.\n" +
    "The submissions of the recent past recur during the forecast; --arrivals none leaves them out.\n" +
    "--lose takes a node, switch, rack, power feed, pool or site by its name; write rack=r7 where several have the name.\n" +
    "Examples:\n  headroom what-if --lose n1 --lose leaf-2\n  headroom what-if --lose power=feed-a\n  headroom what-if --add n1:4 --hours 24\n" +
    "  headroom what-if --add-site lyon:spine,leaf --add-pool b200:site=lyon,type=B200,nodes=4,gpus=8\n" +
    "  headroom what-if --cap rack=r3:30kW --hours 24\n  headroom what-if --policy fifo\n  headroom what-if -f teams.yaml -f fleet.yaml",
  options: [
    {
      flags: "--lose <name>",
      description:
        "forecast without this node, switch, rack, power feed, pool or site; can be repeated (default: none)",
      repeatable: true,
    },
    {
      flags: "--add <node:count>",
      description: "forecast with this number of additional nodes like the named one; can be repeated (default: none)",
      repeatable: true,
    },
    {
      flags: "--add-pool <pool>",
      description:
        "forecast with a new pool: NAME:nodes=4,gpus=8,type=B200[,site=…,cores=…,memory=…,price=…]; can be repeated (default: none)",
      repeatable: true,
    },
    {
      flags: "--add-site <site>",
      description: "forecast with a new site: NAME or NAME:spine,leaf; can be repeated (default: none)",
      repeatable: true,
    },
    {
      flags: "--order <name>",
      description: "forecast as if the nodes of this capacity order were there now; can be repeated (default: none)",
      repeatable: true,
    },
    {
      flags: "--cap <cap>",
      description:
        "forecast with this cap on power, like rack=r3:30kW, rack:40kW for every rack, or cooling:cdu=c1:90kW; can be repeated (default: the caps of the sites)",
      repeatable: true,
    },
    {
      flags: "--policy <preset or file>",
      description: "forecast under another policy: a preset, or FILE.yaml (default: the present policy)",
      complete: "preset",
    },
    {
      flags: "-f, --file <file>",
      description:
        "forecast with the teams, new sites and simulated pools of this file; can be repeated (default: none)",
      repeatable: true,
      complete: "file",
    },
    { flags: "--hours <count>", description: "hours to look ahead (default 12, at most 168)" },
    {
      flags: "--arrivals <source>",
      description: "submissions during the forecast: recorded (those of the recent past recur; default) or none",
      complete: ["recorded", "none"],
    },
    jsonOption,
  ],
  async run(context, { options }) {
    const horizonMs = Math.round(Number(options.hours ?? "12") * HOUR_MS);
    const { whatIfHorizonMs } = await import("@headroom/protocol");
    if (!(horizonMs >= whatIfHorizonMs.min && horizonMs <= whatIfHorizonMs.max))
      throw new CliError(
        `--hours: expected a number of hours from a minute (0.017) to ${whatIfHorizonMs.max / HOUR_MS}, got ${JSON.stringify(options.hours)}`,
        exitCode.usage,
      );
    const arrivals = arrivalsOf(options.arrivals ?? "recorded");
    const { failureDomainNamed } = await import("../input/failure-domain.ts");
    const lose = (options.lose ?? []).map((name) => failureDomainNamed(name, "--lose"));
    const { addedPool, addedSite } = await import("../documents/added-fleet.ts");
    const addNodes = (options.add ?? []).map(addition);
    const { triedFleetAndTeams, triedPolicy } = await import("../tried-change.ts");
    const { terminal } = context;
    const declared = await triedFleetAndTeams(options.file ?? [], terminal);
    const addPools = [...declared.addPools, ...(options.addPool ?? []).map(addedPool)];
    const addSites = [...declared.addSites, ...(options.addSite ?? []).map(addedSite)];
    const orders = options.order ?? [];
    const { triedCap } = await import("../documents/tried-cap.ts");
    const caps = (options.cap ?? []).map(triedCap);
    const changeCount = [orders, caps, lose, addNodes, addPools, addSites, declared.teams].flat().length;
    if (changeCount === 0 && options.policy === undefined)
      throw new CliError(
        "nothing to compare: pass --lose, --add, --add-pool, --add-site, --order, --cap, --policy or -f teams.yaml",
        exitCode.usage,
      );
    const client = await context.connect();
    const answer = await client.whatIf({
      teams: declared.teams,
      horizonMs,
      arrivals,
      lose,
      addPools,
      addSites,
      addNodes,
      orders: [...orders],
      caps,
      ...(options.policy === undefined ? {} : { policy: await triedPolicy(options.policy, client, terminal) }),
    });
    if (options.json === true) {
      context.print(JSON.stringify(answer, null, 2));
      return exitCode.ok;
    }
    const { whatIfTables } = await import("../output/what-if-text.ts");
    context.print(...whatIfTables(answer, terminal.stdout, context.paint));
    return exitCode.ok;
  },
});

function arrivalsOf(text: string): "recorded" | "none" {
  if (text === "recorded" || text === "none") return text;
  throw new CliError(`--arrivals: expected recorded or none, got ${JSON.stringify(text)}`, exitCode.usage);
}

function addition(text: string): { readonly like: string; readonly count: number } {
  const at = text.lastIndexOf(":");
  const count = at < 0 ? 1 : Number(text.slice(at + 1));
  if (!Number.isSafeInteger(count) || count < 1)
    throw new CliError(`--add ${text}: write NODE:COUNT, like n1:4`, exitCode.usage);
  return { like: at < 0 ? text : text.slice(0, at), count };
}
