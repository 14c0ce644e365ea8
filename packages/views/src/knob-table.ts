/** The knobs of policies as a table in Markdown: `headroom policy --knobs` prints it, docs/policies.md holds it. */
import { genesisPolicy, rulesOf } from "@headroom/engine";
import { policyKnobs } from "@headroom/protocol";

/** Knobs that every policy states. */
const required: ReadonlySet<string> = new Set(Object.keys(genesisPolicy));

export function knobTable(): readonly string[] {
  const rules: unknown = rulesOf(genesisPolicy);
  const rows = policyKnobs().map(({ path, values, meaning }) => {
    const leftOut = required.has(path)
      ? "must be given"
      : `\`${JSON.stringify(valueAt(rules, path.split("."))) ?? "none"}\``;
    return `| \`${path}\` | ${values} | ${leftOut} | ${meaning} |`;
  });
  return ["| knob | values | left out | meaning |", "|---|---|---|---|", ...rows];
}

function valueAt(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined || typeof value !== "object" || value === null) return value;
  return valueAt((value as Readonly<Record<string, unknown>>)[step], rest);
}
