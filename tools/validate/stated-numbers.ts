/**
 * Numbers that a row states and that cannot be: a text, a negative size, half an accelerator. A row is refused for them,
 * because filling in a default would answer another question than the one that was measured.
 */
type Fields = Readonly<Record<string, string>>;

export interface NumberColumns {
  /** Whole numbers from 1. */
  readonly counts: readonly string[];
  /** Whole numbers from 0, where 0 says that there is none. */
  readonly amounts: readonly string[];
  /** Above 0. */
  readonly measures: readonly string[];
}

/** The problem of the first invalid number, or nothing. */
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
