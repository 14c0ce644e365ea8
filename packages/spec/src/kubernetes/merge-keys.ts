/** Merge keys of YAML 1.1 (yaml.org/type/merge.html), which kubectl reads: `<<: *base`. YamlMap of the map itself take precedence. */

type YamlMap = Readonly<Record<string, unknown>>;

const isYamlMap = (value: unknown): value is YamlMap =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Deeper than any object of Kubernetes: what lies below is not read anyway. */
const DEPTH_MAX = 60;

/** Values that several anchors share are read once. A merge key whose value is no map, and no list of maps, stays as it is. */
export function withMerges(value: unknown, known = new Map<unknown, unknown>(), depth = 0): unknown {
  if (typeof value !== "object" || value === null || depth > DEPTH_MAX) return value;
  const before = known.get(value);
  if (before !== undefined) return before;
  // A map that refers to itself is read as empty there.
  known.set(value, Array.isArray(value) ? [] : {});
  const read = (each: unknown): unknown => withMerges(each, known, depth + 1);
  const result = Array.isArray(value) ? value.map(read) : merged(value as YamlMap, read);
  known.set(value, result);
  return result;
}

function merged(fields: YamlMap, read: (value: unknown) => unknown): YamlMap {
  const own = Object.entries(fields).map(([key, each]) => [key, read(each)] as const);
  const source = own.find(([key]) => key === "<<")?.[1];
  const sources: readonly unknown[] = Array.isArray(source) ? source : [source];
  if (source === undefined || !sources.every(isYamlMap)) return fieldsOf(own);
  // The first of several sources takes precedence.
  const inherited = sources.toReversed().flatMap((each) => Object.entries(each));
  return fieldsOf([...inherited, ...own.filter(([key]) => key !== "<<")]);
}

/** As `Object.fromEntries`, which makes own fields of all names. */
const fieldsOf = (entries: readonly (readonly [string, unknown])[]): YamlMap => Object.fromEntries(entries);
