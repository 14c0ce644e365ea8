/** Values of `--mail-type` (sbatch(1)) as occasions of the field `notify`. */
import { refuse, type Reading } from "../notation/reading.ts";

type MailOccasion = "start" | "end" | "nodeLoss" | "maintenance";

/** `FAIL` also gets a message after a success: workloads have one occasion for their end. */
const occasionsOf: ReadonlyMap<string, readonly MailOccasion[]> = new Map([
  ["NONE", []],
  ["BEGIN", ["start"]],
  ["END", ["end"]],
  ["FAIL", ["end"]],
  ["INVALID_DEPEND", ["end"]],
  ["TIME_LIMIT", ["end"]],
  ["REQUEUE", ["nodeLoss", "maintenance"]],
  ["ALL", ["start", "end", "nodeLoss", "maintenance"]],
]);
const unknownOccasions: ReadonlySet<string> = new Set([
  "STAGE_OUT",
  "TIME_LIMIT_90",
  "TIME_LIMIT_80",
  "TIME_LIMIT_50",
  "ARRAY_TASKS",
]);

export interface MailTypes {
  readonly occasions: readonly MailOccasion[];
  readonly ignored: readonly string[];
}

export function readMailTypes(text: string): Reading<MailTypes> {
  const occasions = new Set<MailOccasion>();
  const ignored: string[] = [];
  for (const word of text.toUpperCase().split(",")) {
    const known = occasionsOf.get(word);
    if (known === undefined && !unknownOccasions.has(word))
      return refuse(
        `must be BEGIN, END, FAIL, REQUEUE, ALL or NONE, or several with commas, got ${JSON.stringify(text)}`,
      );
    if (known === undefined) ignored.push(`sends no message on ${word}`);
    for (const occasion of known ?? []) occasions.add(occasion);
  }
  return { ok: true, value: { occasions: [...occasions], ignored } };
}
