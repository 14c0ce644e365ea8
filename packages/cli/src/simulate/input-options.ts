/** `--inputs` of `headroom simulate`: data sets that jobs read before they start. */
import type { TraceInputs } from "@headroom/sim";
import { CliError, exitCode } from "../cli-error.ts";
import { settings, wholeNumber } from "./amount-options.ts";

const KEYS = ["datasets", "size", "cache", "rate", "known"] as const;
const DATASETS_MAX = 100_000;
const UNITS: Readonly<Record<string, number>> = { MiB: 1, GiB: 1024, TiB: 1_048_576 };
const MIB_MAX = 1_073_741_824;

/** `undefined`: jobs read nothing. */
export function inputsOf(text: string | undefined, seed: number): TraceInputs | undefined {
  if (text === undefined) return undefined;
  const given = settings(text, "--inputs", KEYS);
  const known = given.get("known") ?? "yes";
  if (known !== "yes" && known !== "no")
    throw new CliError(`--inputs: known: expected yes or no, got ${JSON.stringify(known)}`, exitCode.usage);
  return {
    seed,
    datasetCount: wholeNumber(given.get("datasets") ?? "", "--inputs: datasets", { min: 1, max: DATASETS_MAX }),
    datasetMib: mib(given.get("size") ?? "", "size"),
    nodeCacheMib: mib(given.get("cache") ?? "", "cache"),
    mibPerSecond: mib(given.get("rate") ?? "", "rate"),
    isReported: known === "yes",
  };
}

function mib(text: string, key: string): number {
  const [, count = "", unit = ""] = /^([0-9]{1,9})(MiB|GiB|TiB)$/.exec(text) ?? [];
  const value = Number(count) * (UNITS[unit] ?? Number.NaN);
  if (value >= 1 && value <= MIB_MAX) return value;
  throw new CliError(
    `--inputs: ${key}: expected an amount such as 20GiB${key === "rate" ? " (read in a second)" : ""}, got ${JSON.stringify(text)}`,
    exitCode.usage,
  );
}
