/**
 * Finds invalid numbers in a row: text, a negative size, half an accelerator. A row with such a number is rejected. A
 * default in its place would give the prediction for another configuration than the measured one.
 */
type Fields = Readonly<Record<string, string>>;

export interface NumberColumns {
  /** Columns of whole numbers from 1 to `countMax`. */
  readonly counts: readonly string[];
  /** Columns of whole numbers of at least 0. A 0 means that there are none. */
  readonly amounts: readonly string[];
  /** Columns of numbers above 0. */
  readonly measures: readonly string[];
}

/** Largest count that a row may state: no published context, batch or cluster is larger. */
const countMax = 2 ** 24;

/** The problem with the first invalid number, or `undefined` if all are valid. */
export function impossibleNumber(fields: Fields, columns: NumberColumns): string | undefined {
  const wrong = (names: readonly string[], isFine: (value: number) => boolean): string | undefined =>
    names.find((name) => {
      const text = fields[name]?.trim() ?? "";
      return text !== "" && !isFine(Number(text));
    });
  const name =
    wrong(columns.counts, (value) => Number.isSafeInteger(value) && value > 0 && value <= countMax) ??
    wrong(columns.amounts, (value) => Number.isSafeInteger(value) && value >= 0) ??
    wrong(columns.measures, (value) => Number.isFinite(value) && value > 0);
  return name === undefined ? undefined : `${name} cannot be ${JSON.stringify(fields[name])}`;
}
