/** The text that `up` prints: addresses, and commands to try next. */
import path from "node:path";
import type { HeadroomClient } from "@headroom/protocol";
import type { RunningControlPlane } from "@headroom/server";
import { coresText, memoryText, plural } from "../output/amounts.ts";
import type { Paint } from "../output/style.ts";
import { pairLines } from "../output/table.ts";

export interface BannerParts {
  readonly client: HeadroomClient;
  readonly plane: RunningControlPlane;
  readonly home: string;
  /** Whether the console is served. */
  readonly hasConsole: boolean;
  /** Number of workloads in the state directory when the control plane started. */
  readonly submittedCount: number;
  /** Result of applying the quickstart; `null`: not requested. */
  readonly quickstart: string | null;
  /** Where the gateway of the quickstart takes requests; `null`: there is none. */
  readonly gatewayUrl: string | null;
  /** Command line that starts this program. */
  readonly program: string;
  /** Path of examples/serving/chat.mjs, relative to the working directory. */
  readonly chatProgram: string;
  readonly paint: Paint;
}

export async function bannerLines({
  client,
  plane,
  home,
  hasConsole,
  submittedCount,
  quickstart,
  gatewayUrl,
  program,
  chatProgram,
  paint,
}: BannerParts): Promise<string[]> {
  const [status, nodes] = await Promise.all([client.status(), client.listNodes({ limit: 3 })]);
  const machines = nodes.items.map(({ id, acceleratorCount, acceleratorType, coresMilli, memoryMib }) => {
    return `${id}: ${acceleratorCount} × ${acceleratorType || "no accelerator"}, ${coresText(coresMilli)} cores, ${memoryText(memoryMib)}`;
  });
  const more = status.nodes.total - machines.length;
  const { unfinished, ended } = status.workloads;
  const pairs: [string, string][] = [
    [
      "state",
      `${home} (${submittedCount === 0 ? "new" : `${plural(unfinished, "workload")} unfinished, ${ended} ended`})`,
    ],
    ["fleet", [...machines, ...(more > 0 ? [`and ${more} more`] : [])].join("; ")],
    ["API", `${plane.url}/v1, token in ${path.join(home, "token")}`],
  ];
  for (const { kind, notes } of status.isolation) pairs.push(["isolation", [kind, ...notes].join("; ")]);
  if (hasConsole) {
    const { url } = await client.createLoginLink();
    pairs.push(["console", `${url}  (signs one browser in; later: ${program} login)`]);
  }
  if (quickstart !== null) {
    const what =
      quickstart === "created" ? "two workers now train a small language model" : "already applied, unchanged";
    pairs.push(["quickstart", what]);
    if (gatewayUrl !== null)
      pairs.push(["gateway", `${gatewayUrl}, for the endpoint writer, which serves the model once it is trained`]);
  }
  const next: [string, string][] = [
    ...(quickstart === null ? [] : quickstartCommands(program, gatewayUrl === null ? chatProgram : null)),
    [`${program} list`, "list workloads"],
    [`${program} run --workers 2 --follow -- 'echo I am $RANK of $WORLD_SIZE'`, "run a command of your own"],
    [`${program} --help`, "everything else"],
  ];
  const width = Math.max(...next.map(([command]) => command.length));
  return [
    paint("bold", `Headroom ${status.version} runs on ${plane.url}`),
    ...pairLines(pairs, paint).map((line) => `  ${line}`),
    "",
    "Try next, in another terminal:",
    ...next.map(([command, what]) => `  ${paint("cyan", command.padEnd(width))}  ${what}`),
    "",
    "Ctrl-C stops the control plane. Work continues.",
  ];
}

/** `chatProgram`: how to try the model where no gateway runs for its endpoint. */
function quickstartCommands(program: string, chatProgram: string | null): [string, string][] {
  return [
    [`${program} logs -f quickstart`, "watch the loss fall"],
    chatProgram === null
      ? [
          `${program} endpoint try writer --completion 'import {'`,
          "let the trained model continue this; the endpoint starts a replica for it, and stops it when it is idle",
        ]
      : [
          `node ${chatProgram} 'import {'`,
          "let the trained model continue this; then holds a slot until headroom stop chat",
        ],
  ];
}
