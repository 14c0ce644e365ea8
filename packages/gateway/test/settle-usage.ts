/** A reader of usage files for tests that kill it: settles small steps without end and prints a line after each. `STATE LEDGER` */
import { writeSync } from "node:fs";
import { readLedger, settleInto, writeLedger } from "../src/usage/billing-ledger.ts";

const [state, file] = process.argv.slice(2);
for (;;) {
  writeLedger(file!, settleInto(readLedger(file!), state!, { recordsMax: 1 }).ledger);
  writeSync(1, "settled\n");
}
