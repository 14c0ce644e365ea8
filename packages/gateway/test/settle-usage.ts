/**
 * A reader of usage files for tests that kill it. It settles small steps in an endless loop and prints a line after
 * each. Arguments: `STATE LEDGER`
 */
import { writeSync } from "node:fs";
import { readLedger, settleInto, writeLedger } from "../src/usage/billing-ledger.ts";

const [state, file] = process.argv.slice(2);
for (;;) {
  writeLedger(file!, settleInto(readLedger(file!), state!, { recordsMax: 1 }).ledger);
  writeSync(1, "settled\n");
}
