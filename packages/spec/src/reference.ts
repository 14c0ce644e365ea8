/**
 * Generates the reference of the declared resources as Markdown: one page for each group of kinds, from the
 * declarations of their fields.
 */
import type { Fields } from "./encoding/field.ts";
import { kinds } from "./read-manifest.ts";

export interface ReferencePage {
  /** Name of the page's file in `docs/reference/`. */
  readonly file: string;
  readonly text: string;
}

interface Row {
  readonly field: string;
  readonly value: string;
  readonly fallback: string;
  readonly meaning: string;
  readonly wire: string;
}

type KindName = keyof typeof kinds;

const pages: readonly { readonly file: string; readonly title: string; readonly kinds: readonly KindName[] }[] = [
  { file: "workload.md", title: "Workloads", kinds: ["train", "batch", "serve"] },
  { file: "schedule.md", title: "Schedules", kinds: ["schedule"] },
  { file: "pipeline.md", title: "Pipelines", kinds: ["pipeline"] },
  { file: "team.md", title: "Teams", kinds: ["team"] },
  { file: "fleet.md", title: "Fleet", kinds: ["fleet"] },
  { file: "calendar.md", title: "Calendar", kinds: ["maintenance", "reservation", "tariff"] },
];

export function referencePages(): readonly ReferencePage[] {
  return pages.map(({ file, title, kinds: names }) => ({ file, text: pageText(title, names) }));
}

const head = `<!-- Generated from packages/spec by \`npm run reference\`. Do not edit. -->`;
const notations = `Durations are written as \`1h30m\` (units w, d, h, m, s, ms), memory as \`900GiB\` (MiB, GiB, TiB), instants as
\`2027-03-01T08:00:00Z\`. The last column has the name of the field in the JSON of the API, if it differs, and the unit there.`;

function pageText(title: string, names: readonly KindName[]): string {
  const sections = names.map((name, at) => {
    const before = names.slice(0, at).flatMap((each) => rowsOf(kinds[each].notation.parts, ""));
    const all = rowsOf(kinds[name].notation.parts, "");
    const rows = all.filter((row) => !before.some((each) => JSON.stringify(each) === JSON.stringify(row)));
    const shared = rows.length < all.length ? ` It also has the fields of \`${names[0] ?? ""}\`.` : "";
    const { kind } = kinds[name].notation.parts;
    return `## \`kind: ${name}\`\n\n${kind.info.description}${shared}\n\n${tableText(rows)}`;
  });
  return `${head}\n\n# ${title}\n\n${notations}\n\n${sections.join("\n\n")}\n`;
}

function rowsOf(fields: Fields, prefix: string): Row[] {
  return Object.entries(fields).flatMap(([name, field]): Row[] => {
    if (name === "kind") return [];
    const { info, notation, isRequired, wireName } = field;
    const path = `${prefix}${name}`;
    const own: Row = {
      field: `\`${path}\``,
      value: notation.kind,
      fallback: isRequired ? "required" : fallbackOf(field),
      meaning: `${info.description}${exampleOf(info.examples)}`,
      wire: wireOf(wireName as string | null | undefined, notation.unit, info.wire === undefined),
    };
    if (notation.parts === undefined) return [own];
    return [own, ...rowsOf(notation.parts, `${path}${notation.isList === true ? "[]" : ""}.`)];
  });
}

const fallbackOf = ({ fallback, info }: Fields[string]): string =>
  fallback === undefined ? (info.otherwise ?? "") : `\`${exampleText(fallback)}\``;

const exampleOf = (examples: readonly unknown[] | undefined): string =>
  examples === undefined ? "" : ` For example ${examples.map((each) => `\`${exampleText(each)}\``).join(", ")}.`;

/** An example in YAML, on one line. */
function exampleText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(exampleText).join(", ")}]`;
  if (typeof value !== "object" || value === null) return String(value);
  return `{ ${Object.entries(value)
    .map(([key, each]) => `${key}: ${exampleText(each)}`)
    .join(", ")} }`;
}

function wireOf(name: string | null | undefined, unit: string | undefined, isSame: boolean): string {
  if (name === null) return "";
  return [isSame ? "" : `\`${name ?? ""}\``, unit ?? ""].filter((each) => each !== "").join(" ");
}

function tableText(rows: readonly Row[]): string {
  const cell = (text: string): string => text.replaceAll("|", "\\|");
  const lines = rows.map(
    ({ field, value, fallback, meaning, wire }) =>
      `| ${[field, value, fallback, meaning, wire].map(cell).join(" | ")} |`,
  );
  return ["| field | value | default | meaning | API |", "|---|---|---|---|---|", ...lines].join("\n");
}
