import type { Accelerator, ScaleUp } from "./accelerator.ts";
import type { Fabric, FabricTier } from "./fabric.ts";
import { matrixClasses, type MatrixClass } from "./number-format.ts";

/**
 * Result of reading a user's additions to the catalogue from parsed YAML or JSON: the entries, or all problems of the
 * file.
 */
export type EntriesReading =
  | { readonly kind: "entries"; readonly accelerators: readonly Accelerator[]; readonly fabrics: readonly Fabric[] }
  | { readonly kind: "refused"; readonly problems: readonly string[] };

type EntryFields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is EntryFields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Reads fields one by one and collects all problems, so that a file can be corrected in one pass. */
class FieldReader {
  readonly problems: string[] = [];

  positive(fields: EntryFields, field: string, where: string): number {
    const value = fields[field];
    if (typeof value === "number" && Number.isFinite(value) && value > 0) return value;
    this.problems.push(`${where}.${field} must be a positive number, not ${JSON.stringify(value)}`);
    return 1;
  }

  count(fields: EntryFields, field: string, where: string): number {
    const value = this.positive(fields, field, where);
    if (!Number.isSafeInteger(value)) this.problems.push(`${where}.${field} must be a whole number, not ${value}`);
    return value;
  }

  text(fields: EntryFields, field: string, where: string): string {
    const value = fields[field];
    if (typeof value === "string" && value !== "") return value;
    this.problems.push(`${where}.${field} must be a text, not ${JSON.stringify(value)}`);
    return "";
  }

  list(value: unknown, where: string): readonly EntryFields[] {
    if (value === undefined) return [];
    if (Array.isArray(value) && value.every(isFields)) return value;
    this.problems.push(`${where} must be a list of entries`);
    return [];
  }

  /** Reports unknown field names, which would otherwise be ignored silently. */
  only(fields: EntryFields, allowed: readonly string[], where: string): void {
    for (const field of Object.keys(fields)) {
      if (!allowed.includes(field)) this.problems.push(`${where}.${field} is unknown; there are ${allowed.join(", ")}`);
    }
  }
}

const scaleUpKinds = ["switched", "mesh", "torus", "pcie"] as const;
const fabricKinds = ["fat-tree", "rail-optimised", "dragonfly", "torus"] as const;

export function readCatalogueEntries(value: unknown): EntriesReading {
  const reader = new FieldReader();
  if (!isFields(value)) return { kind: "refused", problems: ["the file must hold accelerators and fabrics by name"] };
  reader.only(value, ["accelerators", "fabrics"], "file");
  const accelerators = reader
    .list(value["accelerators"], "accelerators")
    .map((fields, index) => readAccelerator(fields, `accelerators[${index}]`, reader));
  const fabrics = reader
    .list(value["fabrics"], "fabrics")
    .map((fields, index) => readFabric(fields, `fabrics[${index}]`, reader));
  if (reader.problems.length > 0) return { kind: "refused", problems: reader.problems };
  return { kind: "entries", accelerators, fabrics };
}

function readAccelerator(fields: EntryFields, where: string, reader: FieldReader): Accelerator {
  const allowed = ["name", "vendor", "year", "denseTflops", "bestMatmulTflops", "memoryGib", "memoryGbPerS"];
  const optional = ["halfFormat", "powerWatts", "architecture", "computeUnits", "matrixUnitWidth"];
  reader.only(fields, [...allowed, "scaleUp", "scaleOutGbPerS", ...optional, "source"], where);
  const source = reader.text(fields, "source", where);
  const denseTflops = readRates(fields["denseTflops"], `${where}.denseTflops`, reader);
  if (denseTflops.bf16 === undefined) reader.problems.push(`${where}.denseTflops.bf16 must be given`);
  const best = fields["bestMatmulTflops"];
  return {
    name: reader.text(fields, "name", where),
    aliases: [],
    vendor: reader.text(fields, "vendor", where),
    year: reader.count(fields, "year", where),
    denseTflops,
    ...readHalfFormat(fields["halfFormat"], `${where}.halfFormat`, reader),
    memoryGib: reader.positive(fields, "memoryGib", where),
    memoryGbPerS: reader.positive(fields, "memoryGbPerS", where),
    scaleUp: readScaleUp(fields["scaleUp"], `${where}.scaleUp`, reader),
    scaleOutGbPerS: reader.positive(fields, "scaleOutGbPerS", where),
    ...(fields["architecture"] === undefined ? {} : { architecture: reader.text(fields, "architecture", where) }),
    ...(fields["computeUnits"] === undefined ? {} : { computeUnits: reader.count(fields, "computeUnits", where) }),
    ...(fields["matrixUnitWidth"] === undefined
      ? {}
      : { matrixUnitWidth: reader.count(fields, "matrixUnitWidth", where) }),
    ...(fields["powerWatts"] === undefined ? {} : { powerWatts: reader.positive(fields, "powerWatts", where) }),
    ...(best === undefined ? {} : { bestMatmulTflops: readRates(best, `${where}.bestMatmulTflops`, reader) }),
    sources: { matrix: source, memory: source, scaleUp: source, scaleOut: source },
  };
}

/** Accelerators use bf16 for 16-bit products unless their entry names fp16 as the only 16-bit format. */
function readHalfFormat(value: unknown, where: string, reader: FieldReader): Pick<Accelerator, "halfFormat"> {
  if (value === "fp16") return { halfFormat: value };
  if (value !== undefined && value !== "bf16") {
    reader.problems.push(`${where} must be bf16 or fp16, not ${JSON.stringify(value)}`);
  }
  return {};
}

function readRates(value: unknown, where: string, reader: FieldReader): Partial<Record<MatrixClass, number>> {
  if (!isFields(value)) {
    reader.problems.push(`${where} must give a rate for one or more of ${matrixClasses.join(", ")}`);
    return {};
  }
  reader.only(value, matrixClasses, where);
  const given = matrixClasses.filter((matrixClass) => value[matrixClass] !== undefined);
  return Object.fromEntries(given.map((matrixClass) => [matrixClass, reader.positive(value, matrixClass, where)]));
}

function readScaleUp(value: unknown, where: string, reader: FieldReader): ScaleUp {
  const fields = isFields(value) ? value : {};
  reader.only(fields, ["kind", "name", "gbPerS", "domainCount"], where);
  const kind = scaleUpKinds.find((known) => known === fields["kind"]);
  if (kind === undefined) reader.problems.push(`${where}.kind must be one of ${scaleUpKinds.join(", ")}`);
  return {
    kind: kind ?? "pcie",
    name: reader.text(fields, "name", where),
    gbPerS: reader.positive(fields, "gbPerS", where),
    domainCount: reader.count(fields, "domainCount", where),
  };
}

function readFabric(fields: EntryFields, where: string, reader: FieldReader): Fabric {
  reader.only(fields, ["name", "kind", "tiers", "source"], where);
  const kind = fabricKinds.find((known) => known === fields["kind"]);
  if (kind === undefined) reader.problems.push(`${where}.kind must be one of ${fabricKinds.join(", ")}`);
  const tiers = reader.list(fields["tiers"], `${where}.tiers`).map((tier, index): FabricTier => {
    const at = `${where}.tiers[${index}]`;
    reader.only(tier, ["name", "nodeCount", "oversubscription"], at);
    const oversubscription = reader.positive(tier, "oversubscription", at);
    if (oversubscription < 1) reader.problems.push(`${at}.oversubscription must be at least 1`);
    return { name: reader.text(tier, "name", at), nodeCount: reader.count(tier, "nodeCount", at), oversubscription };
  });
  return {
    name: reader.text(fields, "name", where),
    kind: kind ?? "fat-tree",
    tiers,
    source: reader.text(fields, "source", where),
  };
}
