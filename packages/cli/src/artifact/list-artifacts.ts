/** `headroom artifact list`: names with their newest versions, or the versions of one name. */
import type { ArtifactKind, ArtifactResource, ArtifactVersionSummary } from "@headroom/protocol";
import { exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { limitOf } from "../listing-options.ts";
import { instant, plural } from "../output/amounts.ts";
import { csvLines } from "../output/csv.ts";
import { tableLines } from "../output/table.ts";
import { allPages } from "../resolve-workload.ts";
import { bytesText } from "../size/quantities.ts";
import { kindOf, notationOf, type ArtifactListOptions } from "./artifact-options.ts";

interface Listed {
  readonly kind: ArtifactKind | null;
  readonly name: string | null;
}

export function listArtifacts(
  context: CommandContext,
  { kind, name }: Listed,
  options: ArtifactListOptions,
): Promise<ExitCode> {
  return name === null ? listNames(context, kind, options) : listVersions(context, notationOf({ kind, name }), options);
}

const nameColumns = [
  { title: "ARTIFACT", minWidth: 12 },
  { title: "TEAM", minWidth: 6 },
  { title: "NEWEST", align: "right" },
  { title: "VERSIONS", align: "right" },
  { title: "SIZE", align: "right" },
  { title: "REGISTERED" },
  { title: "ALIASES" },
] as const;

const nameTitles = ["artifact", "team", "newest", "versions", "bytes", "digest", "registered_at", "aliases"];

async function listNames(
  context: CommandContext,
  kind: ArtifactKind | null,
  options: ArtifactListOptions,
): Promise<ExitCode> {
  const query = { kind: kind ?? kindOf(options.kind), team: options.team, search: options.search };
  const limit = limitOf(options.limit);
  const client = await context.connect();
  const { items, more } = await allPages(
    (cursor, size) => client.listArtifacts({ ...query, cursor, limit: size }),
    limit,
  );
  if (options.json === true) context.print(JSON.stringify({ items, more }, null, 2));
  else if (options.csv === true) context.print(...csvLines(nameTitles, items.map(nameCells)));
  else if (items.length === 0)
    context.note(
      "No artifact is registered. `headroom artifact register` and `produces:` in a workload file register one.",
    );
  else context.print(...tableLines([...nameColumns], items.map(nameRow), context.terminal.stdout, context.paint));
  if (more) context.note(`There are more than ${plural(items.length, "artifact")}: use --limit, --team or --search.`);
  return exitCode.ok;
}

const aliasText = ({ aliases }: ArtifactResource): string =>
  aliases.flatMap(({ alias, number }) => (number === null ? [] : [`${alias}@${number}`])).join(" ");

const nameRow = (artifact: ArtifactResource): readonly string[] => [
  artifact.ref,
  artifact.team,
  artifact.newest === null ? "" : `@${artifact.newest.number}`,
  String(artifact.versionCount),
  sizeText(artifact.newest?.bytes),
  artifact.newest === null ? "" : instant(artifact.newest.registeredAtMs),
  aliasText(artifact),
];

const nameCells = (artifact: ArtifactResource): readonly (string | number)[] => [
  artifact.ref,
  artifact.team,
  artifact.newest?.number ?? "",
  artifact.versionCount,
  artifact.newest?.bytes ?? "",
  artifact.newest?.digest ?? "",
  artifact.newest === null ? "" : instant(artifact.newest.registeredAtMs),
  aliasText(artifact),
];

const versionColumns = [
  { title: "VERSION", minWidth: 12 },
  { title: "SIZE", align: "right" },
  { title: "DIGEST" },
  { title: "REGISTERED" },
  { title: "BY" },
  { title: "ALIASES" },
  { title: "STATE" },
] as const;
const versionTitles = ["version", "team", "bytes", "digest", "registered_at", "by", "aliases", "state"];

async function listVersions(
  context: CommandContext,
  artifact: string,
  { deleted, limit: limitText, json, csv }: ArtifactListOptions,
): Promise<ExitCode> {
  const limit = limitOf(limitText);
  const client = await context.connect();
  const { items, more } = await allPages(
    (cursor, size) => client.listArtifactVersions(artifact, { deleted, cursor, limit: size }),
    limit,
  );
  if (json === true) context.print(JSON.stringify({ items, more }, null, 2));
  else if (csv === true) context.print(...csvLines(versionTitles, items.map(versionCells)));
  else context.print(...tableLines([...versionColumns], items.map(versionRow), context.terminal.stdout, context.paint));
  if (more) context.note(`There are more than ${plural(items.length, "version")}: use --limit.`);
  return exitCode.ok;
}

const sizeText = (bytes: number | null | undefined): string =>
  bytes === null || bytes === undefined ? "" : bytesText(bytes);

const stateText = ({ held, deleted, step }: ArtifactVersionSummary): string =>
  [...(step === undefined ? [] : [`step ${step}`]), ...(held ? ["on hold"] : []), ...(deleted ? ["deleted"] : [])].join(
    ", ",
  );

/** The first digits of a digest, which suffice to tell versions apart. */
const shortDigest = (digest: string | null): string => digest?.replace("sha256:", "").slice(0, 12) ?? "unknown";

const versionRow = (version: ArtifactVersionSummary): readonly string[] => [
  version.ref,
  sizeText(version.bytes),
  shortDigest(version.digest),
  instant(version.registeredAtMs),
  version.actor,
  version.aliases.join(" "),
  stateText(version),
];

const versionCells = (version: ArtifactVersionSummary): readonly (string | number)[] => [
  version.ref,
  version.team,
  version.bytes ?? "",
  version.digest ?? "",
  instant(version.registeredAtMs),
  version.actor,
  version.aliases.join(" "),
  stateText(version),
];
