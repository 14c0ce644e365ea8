/** Evaluates a FOCUS 1.2 dataset, row by row, in memory that does not grow with the rows. */
import { allColumns, focusColumns } from "./focus-columns.ts";
import { rowRules, type FocusText } from "./row-rules.ts";

export interface FocusViolation {
  readonly column: string;
  readonly rule: string;
  readonly count: number;
  /** Number of the first row that breaks the rule, from 1; null: the whole dataset breaks it. */
  readonly firstRow: number | null;
}

const MICRO = 1_000_000;
/** Half a millionth of a dollar: costs are stated in millionths. */
const SUM_TOLERANCE = 0.5 / MICRO;

/** Each value of the first column has one value of the second. */
const oneValue: readonly (readonly [string, string])[] = [
  ["SkuPriceId", "SkuId"],
  ["SkuId", "SkuMeter"],
  ["ServiceName", "ServiceCategory"],
  ["ServiceName", "ServiceSubcategory"],
  ["CommitmentDiscountId", "CommitmentDiscountUnit"],
  ["InvoiceId", "BillingAccountId"],
  ["InvoiceId", "InvoiceIssuerName"],
];

export class FocusEvaluation {
  readonly #counts = new Map<string, { -readonly [Key in keyof FocusViolation]: FocusViolation[Key] }>();
  readonly #values = oneValue.map(() => new Map<string, string>());
  /** By commitment: effective cost of its usage, and billed cost of its purchases, in micro-dollars. */
  readonly #commitments = new Map<string, { usage: number; purchase: number }>();
  #rowCount = 0;

  /** `columns`: the header of the file. */
  constructor(columns: readonly string[]) {
    const known: ReadonlySet<string> = new Set(allColumns.map(({ name }) => name));
    const seen = new Set<string>();
    for (const name of columns) {
      if (seen.has(name)) this.#violate(name, "one column of each name", null);
      seen.add(name);
      if (!known.has(name) && !name.startsWith("x_")) this.#violate(name, "own columns begin with x_", null);
    }
    for (const column of focusColumns)
      if ("isMandatory" in column && !seen.has(column.name)) this.#violate(column.name, "present", null);
  }

  get rowCount(): number {
    return this.#rowCount;
  }

  add(row: FocusText): void {
    const number = ++this.#rowCount;
    for (const { column, name, isBroken } of rowRules) if (isBroken(row)) this.#violate(column, name, number);
    for (const [index, [key, value]] of oneValue.entries()) this.#checkOneValue(row, { index, key, value });
    this.#addCommitment(row);
  }

  #checkOneValue(
    row: FocusText,
    { index, key, value }: { readonly index: number; readonly key: string; readonly value: string },
  ): void {
    const [of, has] = [row[key] ?? null, row[value] ?? null];
    if (of === null || has === null) return;
    const known = this.#values[index]?.get(of);
    if (known === undefined) this.#values[index]?.set(of, has);
    else if (known !== has) this.#violate(value, `one value for each ${key}`, this.#rowCount);
  }

  #addCommitment(row: FocusText): void {
    const id = row["CommitmentDiscountId"] ?? null;
    if (id === null) return;
    const sums = this.#commitments.get(id) ?? { usage: 0, purchase: 0 };
    this.#commitments.set(id, sums);
    const microUsd = (column: string): number => Math.round(Number(row[column]) * MICRO);
    if (row["ChargeCategory"] === "Usage") sums.usage += microUsd("EffectiveCost");
    if (row["ChargeCategory"] === "Purchase") sums.purchase += microUsd("BilledCost");
  }

  #violate(column: string, rule: string, row: number | null): void {
    const key = `${column}\u0000${rule}`;
    const known = this.#counts.get(key);
    if (known === undefined) this.#counts.set(key, { column, rule, count: 1, firstRow: row });
    else known.count++;
  }

  /** Everything that was found, after the last row. */
  violations(): readonly FocusViolation[] {
    const sums = [...this.#commitments.values()].filter(
      ({ usage, purchase }) => Math.abs(usage - purchase) > SUM_TOLERANCE * MICRO,
    );
    const rule = "the usage of a commitment costs what was paid for it";
    const unequal = sums.map((): FocusViolation => ({ column: "EffectiveCost", rule, count: 1, firstRow: null }));
    return [...this.#counts.values(), ...unequal];
  }
}
