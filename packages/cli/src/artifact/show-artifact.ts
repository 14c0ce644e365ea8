/** `headroom artifact show | compare`: one version with its history, or two beside each other. */
import type { ArtifactKind, ArtifactVersion } from "@headroom/protocol";
import { exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { gateText } from "@headroom/views/text";
import { instant } from "../output/amounts.ts";
import { pairLines, tableLines } from "../output/table.ts";
import { bytesText } from "../size/quantities.ts";
import { printable } from "../terminal.ts";
import { keyOf, notationOf } from "./artifact-options.ts";
import type { Named, ArtifactShowOptions } from "./artifact-options.ts";

const USERS_SHOWN = 10;

export async function showArtifact(
  context: CommandContext,
  named: Named,
  options: ArtifactShowOptions,
): Promise<ExitCode> {
  const text = notationOf(named);
  const client = await context.connect();
  const version = await client.getArtifactVersion(text);
  const artifact = await client.getArtifact(keyOf(version));
  if (options.json === true) {
    context.print(JSON.stringify({ ...version, aliasMoves: artifact.aliases, gates: artifact.gates }, null, 2));
    return exitCode.ok;
  }
  const { paint, terminal } = context;
  context.print(...pairLines(pairsOf(version), paint));
  const columns = [{ title: "STORE" }, { title: "STATE" }, { title: "PLACE" }];
  const places = version.places.map(({ store, state, uri }) => [store, state, printable(uri)]);
  if (places.length > 0) context.print("", ...tableLines(columns, places, terminal.stdout, paint));
  const gates = Object.entries(artifact.gates).map(([alias, gate]) => [alias, gateText(gate)]);
  if (gates.length > 0)
    context.print("", ...tableLines([{ title: "GATED" }, { title: "GATE" }], gates, terminal.stdout, paint));
  const moves = artifact.aliases
    .flatMap(({ alias, moves: made }) => made.map((move) => ({ alias, ...move })))
    .toSorted((left, right) => left.atMs - right.atMs)
    .map(({ alias, atMs, number, actor, reason }) => [
      instant(atMs),
      alias,
      number === null ? "removed" : `@${number}`,
      actor ?? "",
      printable(reason),
    ]);
  const moveColumns = [{ title: "MOVED" }, { title: "ALIAS" }, { title: "TO" }, { title: "BY" }, { title: "REASON" }];
  if (moves.length > 0) context.print("", ...tableLines(moveColumns, moves, terminal.stdout, paint));
  return exitCode.ok;
}

const sizeText = ({ bytes }: ArtifactVersion): string => (bytes === null ? "unknown" : bytesText(bytes));

function pairsOf(version: ArtifactVersion): (readonly [string, string])[] {
  const { producer, hold, deletion, usedBy, usedByCount, rule } = version;
  const fields = (values: Readonly<Record<string, string | number>>): string =>
    Object.entries(values)
      .map(([name, value]) => printable(`${name}=${value}`))
      .join("  ");
  const pairs: (readonly [string, string])[] = [
    ["version", version.ref],
    ["team", version.team],
    ["digest", version.digest ?? "unknown: the bytes were not read"],
    ["size", sizeText(version)],
    ["registered", `${instant(version.registeredAtMs)} by ${version.actor}`],
    ["made by", producer === null ? "" : `${producer.workload}, attempt ${producer.attemptId}`],
    ["made from", version.inputs.map(printable).join(", ")],
    ["aliases", version.aliases.join(", ")],
    ["rule", rule ?? ""],
    ["metrics", fields(version.metrics)],
    ["parameters", fields(version.parameters)],
    ["tags", fields(version.tags)],
    [
      "used by",
      `${usedBy.slice(0, USERS_SHOWN).join(", ")}${usedByCount > USERS_SHOWN ? `, and ${usedByCount - USERS_SHOWN} more` : ""}`,
    ],
    ["hold", hold === null ? "" : `since ${instant(hold.atMs)} by ${hold.actor ?? ""} ${printable(hold.reason)}`],
    ["deleted", deletion === null ? "" : `${instant(deletion.atMs)} by ${deletion.actor ?? "the retention"}`],
  ];
  return pairs.filter(([, value]) => value !== "");
}

export async function compareArtifacts(
  context: CommandContext,
  { kind, names }: { readonly kind: ArtifactKind | null; readonly names: readonly [string, string] },
  options: ArtifactShowOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const first = await client.getArtifactVersion(notationOf({ kind, name: names[0] }));
  const second = await client.getArtifactVersion(notationOf({ kind, name: names[1] }));
  const rows = differences(first, second);
  if (options.json === true)
    context.print(
      JSON.stringify(
        {
          first: first.id,
          second: second.id,
          differences: rows.map(([field, a, b]) => ({ field, first: a, second: b })),
        },
        null,
        2,
      ),
    );
  else {
    const columns = [{ title: "FIELD" }, { title: first.ref.toUpperCase() }, { title: second.ref.toUpperCase() }];
    context.print(...tableLines(columns, rows, context.terminal.stdout, context.paint));
  }
  return exitCode.ok;
}

type Difference = readonly [field: string, first: string, second: string];

/** Fields that differ. */
function differences(first: ArtifactVersion, second: ArtifactVersion): readonly Difference[] {
  const fieldsOf = (version: ArtifactVersion): ReadonlyMap<string, string> =>
    new Map([
      ["digest", version.digest ?? "unknown"],
      ["size", sizeText(version)],
      ["registered", instant(version.registeredAtMs)],
      ["made by", version.producer?.attemptId ?? version.actor],
      ["made from", version.inputs.map(printable).join(", ")],
      ["aliases", version.aliases.join(", ")],
      ...named("metric", version.metrics),
      ...named("parameter", version.parameters),
      ...named("tag", version.tags),
    ]);
  const [a, b] = [fieldsOf(first), fieldsOf(second)];
  return [...new Set([...a.keys(), ...b.keys()])].flatMap((field): Difference[] => {
    const [left = "", right = ""] = [a.get(field), b.get(field)];
    return left === right ? [] : [[field, left, right]];
  });
}

const named = (what: string, values: Readonly<Record<string, string | number>>): readonly [string, string][] =>
  Object.entries(values).map(([name, value]) => [printable(`${what} ${name}`), printable(String(value))]);
