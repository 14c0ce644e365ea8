/**
 * Canonical JSON with sorted keys: the form that digests and fingerprints are computed from. Maps become arrays of
 * entries in key order. Accepts the types of the state: strings, integers, booleans, null, arrays, records, maps.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value instanceof Map) {
    const entries = [...(value as Map<string | number, unknown>)].toSorted(([left], [right]) =>
      compareText(String(left), String(right)),
    );
    return canonicalJson(entries);
  }
  const record = value as Readonly<Record<string, unknown>>;
  const fields = Object.keys(record)
    .toSorted(compareText)
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(record[key])}`);
  return `{${fields.join(",")}}`;
}

/** Order by UTF-16 units: the same in every locale and engine. */
export function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
