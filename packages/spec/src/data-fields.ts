/** `data` of a workload, and of sites and pools: what is read, where it lies, and under which rule it may be worked on. */
import { z } from "zod";
import * as limits from "./limits.ts";
import * as names from "./names.ts";
import type { WorkloadSpec } from "./workload-spec.ts";
import { fields, optionalLeaf, readName, readText } from "./field.ts";
import { read, refuse, shown, type Reading } from "./notation/reading.ts";

function readList<Item>(
  value: unknown,
  { max, example, readItem }: { max: number; example: string; readItem: (each: unknown) => Reading<Item> },
): Reading<Item[]> {
  if (!Array.isArray(value)) return refuse(`must be a list like ${example}, got ${shown(value)}`);
  if (value.length > max) return refuse(`must have at most ${max} entries, got ${value.length}`);
  const items: Item[] = [];
  for (const each of value as readonly unknown[]) {
    const reading = readItem(each);
    if (!reading.ok) return refuse(`has an entry that ${reading.message}`);
    if (items.includes(reading.value)) return refuse(`names ${String(reading.value)} twice`);
    items.push(reading.value);
  }
  return read(items);
}

const readDataset = (value: unknown): Reading<string> =>
  readText(value, { lengthMax: limits.DATASET_CHARS_MAX, form: "the name of a data set" });
const readDatasets = (value: unknown): Reading<string[]> =>
  readList(value, { max: limits.DATASETS_MAX, example: "[s3://corpus/v7]", readItem: readDataset });
const readRule = (value: unknown): Reading<string> => readName(value, names.dataRule);
const readRules = (value: unknown): Reading<string[]> =>
  readList(value, { max: limits.DATA_RULES_MAX, example: "[restricted]", readItem: readRule });

const list = { type: "array", items: { type: "string" } };

export const workDataFields = fields(
  {
    inputs: optionalLeaf(
      {
        description: "What it reads: it goes where most of it lies, if it can.",
        ...list,
        examples: [["s3://corpus/v7"]],
      },
      [],
      readDatasets,
    ),
    rule: optionalLeaf(
      { description: "It runs only where this rule is admitted.", type: "string", examples: ["restricted"] },
      null,
      (value): Reading<string | null> => readRule(value),
    ),
  },
  { meant: { input: "inputs", datasets: "inputs", rules: "rule", tag: "rule", class: "rule" } },
);

export const placeDataFields = fields(
  {
    rules: optionalLeaf(
      { description: "Rules under which work may run here; a pool's stand in place of its site's.", ...list },
      null,
      (value): Reading<string[] | null> => readRules(value),
    ),
    holds: optionalLeaf(
      { description: "Data sets that lie here, each with all that is below it.", ...list, examples: [["s3://corpus"]] },
      [],
      readDatasets,
    ),
  },
  { meant: { rule: "rules", datasets: "holds", inputs: "holds" } },
);

type WorkData = z.output<typeof workDataFields>;
type PlaceData = z.output<typeof placeDataFields>;

/** Fields of the spec; what was left out is left out. */
export function workDataOf(data: WorkData | undefined): Pick<WorkloadSpec, "data"> {
  if (data === undefined) return {};
  const { inputs, rule } = data;
  return { data: { ...(inputs.length === 0 ? {} : { inputs }), ...(rule === null ? {} : { rule }) } };
}

interface WithPlace {
  data?: { rules?: string[] | undefined; holds?: string[] | undefined } | undefined;
}

export function placeDataOf(data: PlaceData | undefined): WithPlace {
  if (data === undefined) return {};
  const { rules, holds } = data;
  return { data: { ...(rules === null ? {} : { rules }), ...(holds.length === 0 ? {} : { holds }) } };
}
