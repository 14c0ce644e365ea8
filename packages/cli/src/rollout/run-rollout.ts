/** `headroom rollout list`, `show`, and the commands that steer a rollout. */
import type { Endpoint, SteerRollout } from "@headroom/protocol";
import { rolloutFigureText, stepsText } from "@headroom/views";
import { exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { foundEndpoint } from "../endpoint/run-endpoint.ts";
import { ago } from "../output/amounts.ts";
import { pairLines, tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";

export interface RolloutCommandOptions {
  readonly json?: boolean;
}

type RollingOut = Endpoint & { readonly rollout: NonNullable<Endpoint["rollout"]> };

const columns = [
  { title: "ENDPOINT", minWidth: 8 },
  { title: "TEAM" },
  { title: "REVISION", align: "right" },
  { title: "STEP", align: "right" },
  { title: "NEW READY", align: "right" },
  { title: "VERDICT" },
  { title: "STATE" },
] as const;

export async function listRollouts(context: CommandContext, { json }: RolloutCommandOptions): Promise<ExitCode> {
  const client = await context.connect();
  const { items } = await client.endpoints();
  const going = items.filter((each): each is RollingOut => each.rollout !== null);
  if (json === true) context.print(JSON.stringify(going, null, 2));
  else if (going.length === 0)
    context.print("No rollout is in progress. Change the command, environment or model of an endpoint to start one.");
  else context.print(...tableLines(columns, going.map(rowOf), context.terminal.stdout, context.paint));
  return exitCode.ok;
}

const rowOf = ({ name, team, rollout }: RollingOut): readonly string[] => [
  name,
  team,
  `${rollout.fromNumber} to ${rollout.number}`,
  rollout.steps === null
    ? "one by one"
    : rollout.shadowMilli !== null
      ? "copies"
      : `${rollout.steps[rollout.step] ?? 100}%`,
  `${rollout.replicas.canaryReady} of ${rollout.replicas.canary}`,
  rollout.verdict ?? "-",
  rollout.phase,
];

export async function showRollout(
  context: CommandContext,
  name: string,
  { json }: RolloutCommandOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const { items, nowMs } = await client.endpoints();
  const endpoint = foundEndpoint(items, name);
  if (json === true) {
    context.print(JSON.stringify(endpoint.rollout, null, 2));
    return exitCode.ok;
  }
  const { rollout, revision } = endpoint;
  if (rollout === null) {
    context.print(`No rollout of ${printable(endpoint.name)} is in progress; its replicas run revision ${revision}.`);
    return exitCode.ok;
  }
  context.print(context.paint("bold", printable(endpoint.name)), ...pairLines(pairsOf(rollout, nowMs), context.paint));
  return exitCode.ok;
}

function pairsOf(rollout: RollingOut["rollout"], nowMs: number): readonly (readonly [string, string])[] {
  const { number, fromNumber, cause, actor, changed, steps, replicas, requests, verdict, figures } = rollout;
  const what = cause === "alias" ? "the alias of its model moved" : `changed: ${changed.join(", ")}`;
  return [
    ["revision", `${number} instead of ${fromNumber} (${what})`],
    ["started", `${ago(rollout.startedAtMs, nowMs)} by ${printable(actor)}`],
    ["state", printable(rollout.sentence)],
    ["steps", steps === null ? "replica by replica" : stepsText(steps)],
    ...(rollout.shadowMilli === null
      ? []
      : [["copies", `${rollout.shadowMilli / 10}% of the requests are copied to the new revision`] as const]),
    ...(rollout.weightMilli === null
      ? []
      : [["requests", `${rollout.weightMilli / 10}% go to the new revision now`] as const]),
    [
      "replicas",
      `new: ${replicas.canaryReady} of ${replicas.canary} ready; present: ${replicas.stableReady} of ${replicas.stable} ready`,
    ],
    ...(requests === null
      ? []
      : [
          [
            "compared",
            `${requests.canary} requests of the new revision, ${requests.baseline} of the present one`,
          ] as const,
        ]),
    ...(verdict === null ? [] : [["verdict", verdict] as const]),
    ...figures.map((figure) => ["figure", rolloutFigureText(figure)] as const),
    [
      "deadline",
      `it is rolled back if it has not ended in ${Math.max(0, Math.ceil((rollout.deadlineAtMs - nowMs) / 60_000))} min`,
    ],
  ];
}

export async function steerRollout(
  context: CommandContext,
  name: string,
  { action, done }: { readonly action: SteerRollout["action"]; readonly done: string },
): Promise<ExitCode> {
  const client = await context.connect();
  const { items } = await client.endpoints();
  const { workloadId, name: shown } = foundEndpoint(items, name);
  const { changed } = await client.steerRollout(workloadId, { action });
  context.print(changed ? `${done} of ${printable(shown)}.` : `The rollout of ${printable(shown)} is so already.`);
  return exitCode.ok;
}
