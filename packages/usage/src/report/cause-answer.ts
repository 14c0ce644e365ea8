/** Hours by cause as the API answers them. Amounts are exact as texts, because sums exceed the integers of a double. */
import { MILLI_MS_PER_HOUR } from "../bill/charges.ts";
import { HOUR_CAUSES, sumOfLines, type CauseHours, type CauseLine, type HourCause } from "./cause-hours.ts";

export interface CauseAmount {
  /** Accelerator-milliseconds, exact, with up to three decimals: `3600000`, `12.345`. */
  readonly acceleratorMs: string;
  /** The same, rounded to a double. */
  readonly hours: number;
}

export interface CauseAnswerLine {
  readonly group: string;
  readonly allocated: CauseAmount;
  readonly causes: (CauseAmount & { readonly cause: HourCause })[];
}

export interface CauseAnswer {
  readonly items: CauseAnswerLine[];
  readonly total: CauseAnswerLine;
  readonly unallocated: (CauseAmount & { readonly reason: string })[];
}

/** The line of the groups that have no line of their own. Names of groups have no parentheses. */
const OTHER_GROUPS = "(others)";

/** At most `linesMax` lines: the last of more is the sum of those with the least time. */
export const causeAnswer = ({ items, total, unallocated }: CauseHours, linesMax: number): CauseAnswer => ({
  items: atMost(items, linesMax).map(lineOf),
  total: lineOf(total),
  unallocated: [...unallocated].map(([reason, amount]) => ({ reason, ...amountOf(amount) })),
});

function atMost(items: readonly CauseLine[], max: number): readonly CauseLine[] {
  if (items.length <= max) return items;
  const rest = items.slice(max - 1);
  return [...items.slice(0, max - 1), sumOfLines(OTHER_GROUPS, rest)];
}

const lineOf = ({ group, allocated, causes }: CauseLine): CauseAnswerLine => ({
  group,
  allocated: amountOf(allocated),
  causes: HOUR_CAUSES.map((cause) => ({ cause, ...amountOf(causes[cause]) })),
});

const amountOf = (milliMs: bigint): CauseAmount => ({
  acceleratorMs: thousandthsText(milliMs),
  hours: Number(milliMs) / MILLI_MS_PER_HOUR,
});

/** An integer of thousandths as a decimal number without trailing zeros: 1500 is `1.5`. */
export function thousandthsText(thousandths: bigint): string {
  const digits = (thousandths < 0n ? -thousandths : thousandths).toString().padStart(4, "0");
  const fraction = digits.slice(-3).replace(/0+$/, "");
  return `${thousandths < 0n ? "-" : ""}${digits.slice(0, -3)}${fraction === "" ? "" : `.${fraction}`}`;
}
