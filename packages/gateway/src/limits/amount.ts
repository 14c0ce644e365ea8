/** Amounts of limits: requests, tokens, nano-dollars. An infinite or negative amount would switch a limit off for ever. */

/** Whether the value is an amount. JSON can express infinity (`1e999`) and writes it as `null`. */
export function isAmount(amount: unknown): amount is number {
  return typeof amount === "number" && amount >= 0 && amount <= Number.MAX_SAFE_INTEGER;
}

/** Stops the process before a ledger counts what is no amount: whoever made it has checked it. */
export function assertAmount(amount: number): void {
  if (!isAmount(amount)) throw new Error(`a limit cannot count ${String(amount)}: it is no amount`);
}
