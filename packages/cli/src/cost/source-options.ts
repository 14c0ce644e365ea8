/** Options of the cost commands that name rows, prices and the time. */
import type { OptionDefinition } from "../command.ts";

export const sourceOptions: readonly OptionDefinition[] = [
  { flags: "--state <directory>", description: "state directory with the journal (default: --home)", complete: "file" },
  {
    flags: "--rows <file>",
    description: "CSV of usage rows, as headroom usage --rows writes it (default: none)",
    complete: "file",
  },
  { flags: "--demo", description: "a generated month of an owned and rented fleet" },
  { flags: "--demo-scale <count>", description: "how many times the demo's 20 nodes (default: 1)" },
  {
    flags: "--prices <file>",
    description: "file or directory of price documents (default: prices/ in the state directory); repeatable",
    complete: "file",
    repeatable: true,
  },
  {
    flags: "--gateway <directory>",
    description: "state of gateways, with their usage files (default: gateway/ in the state directory)",
    complete: "file",
  },
  { flags: "--month <month>", description: "only this month (UTC): 2026-10" },
  { flags: "--since <time>", description: "from this day (UTC) or instant on (default: none)" },
  { flags: "--until <time>", description: "up to this day (UTC) or instant (default: none)" },
];
