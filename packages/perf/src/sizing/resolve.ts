import { acceleratorOfDevice } from "../calibration/device-names.ts";
import type { CalibrationProfile } from "../calibration/profile.ts";
import type { Accelerator } from "../catalogue/accelerator.ts";
import { accelerators, findAccelerator } from "../catalogue/accelerators.ts";
import type { Fabric } from "../catalogue/fabric.ts";
import { readModelConfig } from "../catalogue/hugging-face.ts";
import type { ModelArchitecture } from "../catalogue/model.ts";
import { findModel, modelNames } from "../catalogue/models.ts";
import { measureInstead, otherModelReason } from "../catalogue/other-models.ts";
import { readCatalogueEntries } from "../catalogue/user-entries.ts";

/** The problem of an impossible question. `nearest` describes a possible question. */
export interface Impossible {
  readonly kind: "impossible";
  readonly reason: string;
  readonly nearest: string;
}

/** A preset's name, or a config.json of Hugging Face together with a name for it. */
export type ModelChoice = string | { readonly name: string; readonly config: unknown };

/** Fields as they come from outside. A field that is `undefined` was not stated. */
export type Given<Fields> = { readonly [Key in keyof Fields]?: Fields[Key] | undefined };

export function stated<Fields>(given: Given<Fields>): Partial<Fields> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Partial<Fields>;
}

export function impossible(reason: string, nearest: string): Impossible {
  return { kind: "impossible", reason, nearest };
}

export function resolveModel(choice: ModelChoice): ModelArchitecture | Impossible {
  if (typeof choice === "string") {
    const found = findModel(choice);
    if (found !== undefined) return found;
    const other = otherModelReason(choice);
    if (other !== undefined) return impossible(other, measureInstead);
    return impossible(
      `there is no model preset ${choice}`,
      `${nearestNames(choice, modelNames)}, or the config.json of the model`,
    );
  }
  const reading = readModelConfig(choice.config, choice.name);
  return reading.kind === "model" ? reading.model : impossible(`${choice.name}: ${reading.reason}`, reading.nearest);
}

/** A notice if only the language model of a multimodal model is sized. */
export function leftOutText({ name, leftOut }: ModelArchitecture): string | undefined {
  if (leftOut === undefined) return undefined;
  return `only the language model of ${name} is sized, without the time and memory of its other parts: ${leftOut.join(", ")}`;
}

/**
 * The accelerators of the user's own catalogue file (`entries`, parsed), followed by the accelerators of the catalogue.
 */
export function knownAccelerators(entries?: unknown): readonly Accelerator[] | Impossible {
  if (entries === undefined) return accelerators;
  const reading = readCatalogueEntries(entries);
  if (reading.kind === "refused") return impossible(reading.problems.join("; "), "a catalogue file without these");
  return [...reading.accelerators, ...accelerators];
}

export function resolveAccelerator(name: string, entries?: unknown): Accelerator | Impossible {
  const known = knownAccelerators(entries);
  if (isImpossible(known)) return known;
  return findAccelerator(name, known) ?? unknownAccelerator(name, known);
}

/** A fabric from the user's own entries. The catalogue has no fabrics, because every site is cabled differently. */
export function resolveFabric(name: string, entries?: unknown): Fabric | Impossible {
  const reading = entries === undefined ? undefined : readCatalogueEntries(entries);
  if (reading?.kind === "refused") return impossible(reading.problems.join("; "), "a catalogue file without these");
  const fabrics = reading?.fabrics ?? [];
  const found = fabrics.find((fabric) => fabric.name === name);
  if (found !== undefined) return found;
  const known = fabrics.map((fabric) => fabric.name).join(", ");
  return impossible(`the catalogue file has no fabric ${name}`, known === "" ? "a file with `fabrics`" : known);
}

export function unknownAccelerator(name: string, known: readonly Accelerator[]): Impossible {
  const names = known.map((one) => one.name);
  const nearest = `${nearestNames(name, names)}, or an entry with its datasheet in a catalogue file`;
  return impossible(`the catalogue has no accelerator ${name}`, nearest);
}

/**
 * The problem, if the calibration profile is of another accelerator. Its rates would otherwise be taken as shares of
 * this accelerator's datasheet.
 */
export function otherDevice(profile: CalibrationProfile, accelerator: Accelerator): Impossible | undefined {
  const measured = acceleratorOfDevice(profile.deviceName, accelerators);
  if (measured === undefined || measured.name === accelerator.name) return undefined;
  return impossible(
    `the profile was measured on ${profile.deviceName} and says nothing of ${accelerator.name}`,
    `a profile of ${accelerator.name}, or sizes for ${measured.name}`,
  );
}

export function isImpossible(value: object): value is Impossible {
  return "kind" in value && value.kind === "impossible";
}

/** Text with the three names that have the longest common subsequences of letters with the typed text. */
function nearestNames(typed: string, names: readonly string[]): string {
  const wanted = typed.toLowerCase();
  const scored = names.map((name) => ({
    name,
    score: commonLength(wanted, name.toLowerCase()) / (name.length + wanted.length),
  }));
  scored.sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1));
  return scored
    .slice(0, 3)
    .map(({ name }) => name)
    .join(", ");
}

/** Length of the longest common subsequence. */
function commonLength(left: string, right: string): number {
  let previous = new Array<number>(right.length + 1).fill(0);
  for (const letter of left) {
    const row = [0];
    for (let index = 0; index < right.length; index += 1) {
      const isSame = right[index] === letter;
      row.push(isSame ? (previous[index] ?? 0) + 1 : Math.max(previous[index + 1] ?? 0, row[index] ?? 0));
    }
    previous = row;
  }
  return previous.at(-1) ?? 0;
}
