/** `apart` of a workload: the sets that it belongs to, and whom it keeps away from. */
import { z } from "zod";
import * as limits from "./limits.ts";
import * as names from "./names.ts";
import type { WorkloadSpec } from "./workload-spec.ts";
import { fields, leaf, optionalLeaf, readChoice, readName } from "./field.ts";
import type { FieldProblem } from "./placement-fields.ts";
import { read, refuse, shown, type Reading } from "./notation/reading.ts";

const readSet = (value: unknown): Reading<string> => readName(value, names.setName);

function readSets(value: unknown): Reading<string[]> {
  if (!Array.isArray(value)) return refuse(`must be a list like [chat], got ${shown(value)}`);
  if (value.length > limits.SETS_MAX) return refuse(`must name at most ${limits.SETS_MAX} sets, got ${value.length}`);
  const sets: string[] = [];
  for (const each of value as readonly unknown[]) {
    const reading = readSet(each);
    if (!reading.ok) return reading;
    if (sets.includes(reading.value)) return refuse(`names ${reading.value} twice`);
    sets.push(reading.value);
  }
  return read(sets);
}

const fromFields = fields(
  {
    set: leaf({ description: "The set of work that it keeps away from.", type: "string" }, readSet),
    within: optionalLeaf(
      { description: "In no common domain of this level of the fabric.", type: "string", examples: ["node", "leaf"] },
      null,
      (value): Reading<string | null> => readName(value, names.fabricName),
    ),
    topologyKey: optionalLeaf(
      { description: "On no nodes with the same value of this label.", type: "string", examples: ["rack"] },
      null,
      (value): Reading<string | null> => readName(value, names.labelName),
    ),
  },
  { meant: { level: "within", label: "topologyKey", over: "topologyKey", name: "set" } },
);

export const antiAffinityFields = fields(
  {
    sets: optionalLeaf(
      {
        description: "Sets that it belongs to, by name.",
        type: "array",
        items: { type: "string" },
        examples: [["chat"]],
      },
      [],
      readSets,
    ),
    from: z
      .array(fromFields, { error: "must be a list like [{ set: chat, topologyKey: rack }]" })
      .max(limits.SETS_MAX)
      .optional()
      .meta({ description: "Sets from whose work it keeps away; that keeps away from it as well." }),
    exclusive: optionalLeaf(
      { description: "Nobody else is on its nodes.", enum: ["node"] },
      null,
      (value): Reading<"node" | null> => readChoice(value, ["node"] as const),
    ),
  },
  { meant: { set: "sets", labels: "sets", alone: "exclusive", antiAffinity: "from" } },
);

type AntiAffinity = z.output<typeof antiAffinityFields>;

export function antiAffinityProblems(antiAffinity: AntiAffinity | undefined): FieldProblem[] {
  return (antiAffinity?.from ?? []).flatMap(({ within, topologyKey }, index) =>
    (within === null) === (topologyKey === null)
      ? [{ path: ["antiAffinity", "from", index], message: "needs within or topologyKey, and not both" }]
      : [],
  );
}

/** Fields of the gang; what was left out is left out. */
export function antiAffinityOf(antiAffinity: AntiAffinity | undefined): Pick<WorkloadSpec["gang"], "antiAffinity"> {
  if (antiAffinity === undefined) return {};
  const { sets, from = [], exclusive } = antiAffinity;
  const rules = from.map(({ set, within, topologyKey }) =>
    within === null ? { set, topologyKey: topologyKey ?? "" } : { set, within },
  );
  return {
    antiAffinity: {
      ...(sets.length === 0 ? {} : { sets }),
      ...(rules.length === 0 ? {} : { from: rules }),
      ...(exclusive === null ? {} : { exclusive: true as const }),
    },
  };
}

/** What reads back as the same. */
export function antiAffinityText({ antiAffinity }: WorkloadSpec["gang"]): Record<string, unknown> {
  if (antiAffinity === undefined) return {};
  const { exclusive, ...rest } = antiAffinity;
  return { antiAffinity: { ...rest, ...(exclusive === undefined ? {} : { exclusive: "node" }) } };
}
