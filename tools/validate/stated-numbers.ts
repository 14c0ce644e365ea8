/**
 * Numbers in a row that are invalid: text, a negative size, half an accelerator. Such a row is rejected, because a
 * default would predict another configuration than the measured one.
 */
type Fields = Readonly<Record<string, string>>;

export interface NumberColumns {
  /** Columns of whole numbers from 1. */
  readonly counts: readonly string[];
  /** Columns of whole numbers from 0; 0 means none. */
  readonly amounts: readonly string[];
  /** Above 0. */
  readonly measures: readonly string[];
}

/** The problem of the first invalid number; undefined: all are valid. */
export function impossibleNumber(fields: Fields, columns: NumberColumns): string | undefined {
  const wrong = (names: readonly string[], isFine: (value: number) => boolean): string | undefined =>
    names.find((name) => {
      const text = fields[name]?.trim() ?? "";
      return text !== "" && !isFine(Number(text));
    });
  const name =
    wrong(columns.counts, (value) => Number.isSafeInteger(value) && value > 0) ??
    wrong(columns.amounts, (value) => Number.isSafeInteger(value) && value >= 0) ??
    wrong(columns.measures, (value) => Number.isFinite(value) && value > 0);
  return name === undefined ? undefined : `${name} cannot be ${JSON.stringify(fields[name])}`;
}
