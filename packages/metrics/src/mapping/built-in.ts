import { acceleratorMapping } from "./accelerators.ts";
import { nodeMapping } from "./nodes.ts";
import { replicaMapping } from "./replicas.ts";
import type { Mapping } from "./rules.ts";

export const builtInMappings: readonly Mapping[] = [acceleratorMapping, nodeMapping, replicaMapping];

/** Units of the built-in values, by name. */
export const mappedUnits: Readonly<Record<string, string>> = Object.fromEntries(
  builtInMappings.flatMap(({ values }) => values.map(({ name, unit }) => [name, unit])),
);
