/**
 * The settings of policies as a Markdown table. `headroom policy --knobs` prints it, and the documentation contains it.
 */
import { genesisPolicy, rulesOf } from "@headroom/model";
import { policyKnobs } from "@headroom/protocol";

/** Settings that every policy must state. */
const required: ReadonlySet<string> = new Set(Object.keys(genesisPolicy));

export interface KnobRow {
  /** `backfill.protectedStarts`. */
  readonly path: string;
  /** Accepted values of the setting, in words. */
  readonly values: string;
  readonly required: boolean;
  /** The default value; absent: the setting is required. */
  readonly leftOut?: unknown;
  readonly meaning: string;
}

export function knobRows(): readonly KnobRow[] {
  const { eviction, fabric, elastic, ...others } = rulesOf(genesisPolicy);
  const rules: unknown = {
    ...others,
    fabric: fabric.choose,
    elastic: elastic.grow,
    eviction: { ...eviction, preemptible: { belowPriority: eviction.preemptibleBelowPriority } },
    strategy: "headroom",
  };
  return policyKnobs().map(({ path, values, meaning }) => {
    const leftOut = required.has(path) ? undefined : valueAt(rules, path.split("."));
    return { path, values, required: required.has(path), ...(leftOut === undefined ? {} : { leftOut }), meaning };
  });
}

export function knobTable(): readonly string[] {
  const rows = knobRows().map((row) => {
    const leftOut = row.required ? "required" : `\`${JSON.stringify(row.leftOut) ?? "none"}\``;
    return `| \`${row.path}\` | ${row.values} | ${leftOut} | ${row.meaning} |`;
  });
  return ["| setting | values | default | meaning |", "|---|---|---|---|", ...rows];
}

function valueAt(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined || typeof value !== "object" || value === null) return value;
  return valueAt((value as Readonly<Record<string, unknown>>)[step], rest);
}
