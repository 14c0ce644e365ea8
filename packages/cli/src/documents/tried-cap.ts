/** `--cap rack=r3:30kW`: a hypothetical cap on power or cooling, in the notation of fleet files. */
import { readDocument, type WhatIfQuestionInput } from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";

type TriedCap = NonNullable<WhatIfQuestionInput["caps"]>[number];

/** Reads `LEVEL=NAME:POWER`, `LEVEL:POWER` for every domain of a level, or either after `cooling:`. */
export function triedCap(text: string): TriedCap {
  const refuse = (message: string): CliError => new CliError(`--cap ${text}: ${message}`, exitCode.usage);
  const of = text.startsWith("cooling:") ? "cooling" : "power";
  const rest = text.replace(/^(cooling|power):/, "");
  const at = rest.lastIndexOf(":");
  if (at <= 0) throw refuse("write LEVEL=NAME:POWER, like rack=r3:30kW, or LEVEL:POWER for every domain of the level");
  const [where, power] = [rest.slice(0, at), rest.slice(at + 1)];
  const equals = where.indexOf("=");
  const named = equals < 0 ? { level: where } : { level: where.slice(0, equals), domain: where.slice(equals + 1) };
  const pools = [{ name: "unused", executor: "simulated", nodes: 1 }];
  const reading = readDocument({ kind: "fleet", sites: [{ name: "unused", caps: [{ of, ...named, power }], pools }] });
  if (!reading.ok) {
    const [problem] = reading.problems;
    throw refuse(`${String(problem?.path.at(-1) ?? "")} ${problem?.message ?? "cannot be read"}`.trim());
  }
  const cap = reading.document.kind === "fleet" ? reading.document.fleet.sites[0]?.caps?.[0] : undefined;
  if (cap === undefined) throw refuse("the cap cannot be read");
  return cap;
}
