/**
 * A number that was fitted to measurements. Training and inference together have at most 40 of them; everything else comes
 * from datasheets, architectures and formulas. None belongs to a source of measurements or to one accelerator.
 */
export interface FittedConstant {
  readonly value: number;
  readonly unit: string;
  /** Values outside this range would have no physical sense; the fitting commands stay inside. */
  readonly range: readonly [low: number, high: number];
  readonly meaning: string;
}
