/**
 * Names of accelerator types, for all code that compares types: discovery, requests, quotas, prices and sizing. Each
 * entry of the catalogue is a type. A family ("H100") comprises the types of one chip that differ in form factor or
 * memory. This module may import only the catalogue's entries, because the control plane loads it at its start.
 */
import type { Accelerator } from "./accelerator.ts";
import { accelerators, findAccelerator } from "./accelerators.ts";

/**
 * Families: chips that are sold in several forms. A type belongs to a family if its name is the family's name, or
 * begins with that name and a hyphen.
 */
export const acceleratorFamilies: readonly string[] = [
  "V100",
  "A100",
  "H100",
  "H200",
  "H800",
  "H20",
  "B200",
  "B300",
  "Rubin",
  "MI250",
  "MI300",
];

const normalised = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "");

const familyByName = new Map(acceleratorFamilies.map((family) => [normalised(family), family]));

/** The family with this name in any spelling. The vendor's name can come before it (`nvidia h100`). */
export function familyNamed(name: string): string | undefined {
  return familyByName.get(normalised(withoutMakers(name)));
}

/** The catalogue's entry for a name or alias, or for the name that a driver or a cloud gives the device. */
function entryNamed(name: string): Accelerator | undefined {
  return findAccelerator(name) ?? findAccelerator(withoutMakers(name));
}

/**
 * The canonical name of a type. For a device in the catalogue it is the catalogue's name: `H100-80GB-HBM3`, `H100-SXM`
 * and `NVIDIA H100 80GB HBM3` are `H100-SXM-80GB`. For any other device it is the device's own name without vendor
 * words and spaces.
 */
export const canonicalType = (name: string): string => entryNamed(name)?.name ?? deviceLabel(name);

/** Whether two names mean the same type. */
export const isSameType = (left: string, right: string): boolean => canonicalType(left) === canonicalType(right);

/** The family of a type, which can be given by any of its names. `undefined` if the type has no family. */
export function familyOfType(name: string): string | undefined {
  const known = familyNamed(name);
  if (known !== undefined) return known;
  const type = canonicalType(name).toLowerCase();
  return acceleratorFamilies.find((family) => type.startsWith(`${family.toLowerCase()}-`));
}

/**
 * The power limit of a type in watts, given by any of its names. A family has that of its type with the highest limit. `undefined`: the
 * catalogue has none.
 */
export function powerOfType(name: string): number | undefined {
  const entry = entryNamed(name);
  if (entry?.powerWatts !== undefined) return entry.powerWatts;
  const family = familyNamed(name);
  const limits = accelerators.flatMap((each) =>
    family !== undefined && familyOfType(each.name) === family ? (each.powerWatts ?? []) : [],
  );
  return limits.length === 0 ? undefined : Math.max(...limits);
}

/** All names of types and families in the catalogue, each once. */
export const acceleratorTypeNames: readonly string[] = [
  ...new Set([...acceleratorFamilies, ...accelerators.map(({ name }) => name)]),
];

const makers =
  /\b(NVIDIA|AMD|Intel|Google|AWS|Habana|Tesla|GeForce|Instinct|Radeon|Advanced Micro Devices,? Inc\.?|\[AMD\/ATI\])([\s-]+|$)/gi;

const withoutMakers = (name: string): string => name.replace(makers, "").trim() || name.trim();

/**
 * A device's own name as one word, without the vendor's words. The word consists of letters, digits, dots and hyphens.
 */
export function deviceLabel(name: string): string {
  return withoutMakers(name)
    .replaceAll(/[^A-Za-z0-9.]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
}

/** The catalogue's name of a type or a family, given by any of its names. `undefined`: the catalogue has neither. */
export function catalogueName(name: string): string | undefined {
  const type = canonicalType(name);
  return familyNamed(name) ?? (acceleratorTypeNames.includes(type) ? type : undefined);
}
