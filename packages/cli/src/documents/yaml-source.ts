/** Converts YAML text to plain data, and a path in that data back to line and column. */
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  visit,
  type Document,
  type Node,
  type Pair,
  type YAMLMap,
} from "yaml";

export interface Place {
  readonly line: number;
  readonly column: number;
}

export interface PlacedMessage extends Place {
  readonly message: string;
}

export interface YamlDocument {
  readonly value: unknown;
  /** Position of the value at `path`, or else of its key, or else of the closest enclosing node. */
  placeOf(path: readonly (string | number)[], isAboutKey: boolean): Place;
}

/**
 * Maximum number of times that anchors are expanded. A "billion laughs" file multiplies by ten at each of a dozen
 * levels.
 */
const ALIAS_COUNT_MAX = 100;

export function parseYaml(text: string): {
  readonly documents: readonly YamlDocument[];
  readonly problems: readonly PlacedMessage[];
} {
  const lines = new LineCounter();
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  let parsed: Document.Parsed[];
  try {
    parsed = [
      ...parseAllDocuments(text, {
        lineCounter: lines,
        prettyErrors: false,
        logLevel: "silent",
        version: "1.2",
        uniqueKeys: false,
      }),
    ];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { documents: [], problems: [{ line: 1, column: 1, message: "the document is nested too deeply" }] };
  }
  const problems: PlacedMessage[] = [];
  const documents: YamlDocument[] = [];
  for (const document of parsed) {
    const errors = [...document.errors, ...document.warnings];
    for (const { pos, message } of errors) problems.push({ ...place(pos[0]), message: sentence(message) });
    const { contents } = document;
    if (errors.length > 0 || contents === null || (isScalar(contents) && contents.source === "")) continue;
    const outcome = plainData(document);

    if ("message" in outcome) {
      problems.push({ ...place(outcome.offset ?? contents.range[0]), message: outcome.message });
      continue;
    }
    documents.push({
      value: outcome.value,
      placeOf: (path, isAboutKey) => place(offsetOf(document, path, isAboutKey)),
    });
  }
  return { documents, problems };
}

interface Refusal {
  readonly message: string;
  /** Position in the text; default: the start of the document. */
  readonly offset?: number | undefined;
}

function plainData(document: Document.Parsed): { readonly value: unknown } | Refusal {
  try {
    const repeated = repeatedKey(document);
    if (repeated !== undefined) return { message: "the same field is given twice", offset: repeated };
    keepEnvironmentText(document);
    return { value: document.toJS({ maxAliasCount: ALIAS_COUNT_MAX }) };
  } catch (error) {
    if (error instanceof RangeError) return { message: "the document is nested too deeply" };
    if (error instanceof ReferenceError) return { message: sentence(error.message), offset: danglingAlias(document) };
    throw error;
  }
}

/** The first key that its map has twice. The parser's own check compares all pairs: minutes for 60,000 keys. */
function repeatedKey(document: Document.Parsed): number | undefined {
  let offset: number | undefined;
  visit(document, {
    Map: (_, map) => {
      const keys = new Set<unknown>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        if (keys.has(key.value)) {
          offset = key.range?.[0];
          return visit.BREAK;
        }
        keys.add(key.value);
      }
      return undefined;
    },
  });
  return offset;
}

/** The first alias that no earlier anchor defines. */
function danglingAlias(document: Document.Parsed): number | undefined {
  let offset: number | undefined;
  visit(document, {
    Alias: (_, alias) => {
      if (alias.resolve(document) !== undefined) return undefined;
      offset = alias.range?.[0];
      return visit.BREAK;
    },
  });
  return offset;
}

/** Values in `env` stay text: `VERSION: 1.10` means the text `1.10`; a number would lose the trailing zero. */
function keepEnvironmentText(document: Document.Parsed): void {
  const root = document.contents;
  if (!isMap(root)) return;
  const env = root.get("env", true);
  if (!isMap(env)) return;
  for (const { value } of env.items) {
    if (isScalar(value) && typeof value.value === "number" && value.source !== undefined) value.value = value.source;
  }
}

function sentence(message: string): string {
  if (/excessive alias count/i.test(message)) return `the document uses anchors more than ${ALIAS_COUNT_MAX} times`;
  if (/call stack/i.test(message)) return "the document is nested too deeply";
  if (/tab/i.test(message) && /indent/i.test(message)) return "tabs cannot be used for indentation: use spaces";
  const plain = message.charAt(0).toLowerCase() + message.slice(1);
  return plain;
}

function offsetOf(document: Document.Parsed, path: readonly (string | number)[], isAboutKey: boolean): number {
  let node: Node | null = document.contents;
  let offset = node?.range?.[0] ?? 0;
  for (const [index, step] of path.entries()) {
    const target: Node | null | undefined = isAlias(node) ? node.resolve(document) : node;
    const { key, value } = childAt(target ?? null, step);
    if (key === undefined && value === undefined) return offset;
    const isLast = index === path.length - 1;
    const keyOffset = key?.range?.[0];
    // The parser puts an empty value after the colon. Its key is a better place for a message.
    const isEmpty = value == null || (isScalar(value) && value.source === "");
    offset = (isLast && isAboutKey) || isEmpty ? (keyOffset ?? offset) : (value.range?.[0] ?? offset);
    node = value ?? null;
  }
  return offset;
}

interface Child {
  readonly key?: Node | undefined;
  readonly value?: Node | null | undefined;
}

/** Pairs of maps by key: a search of a map with 100,000 keys for each of them would take minutes. */
const pairsByMap = new WeakMap<YAMLMap, ReadonlyMap<string, Pair<Node, Node | null>>>();

function pairsOf(map: YAMLMap): ReadonlyMap<string, Pair<Node, Node | null>> {
  const known = pairsByMap.get(map);
  if (known !== undefined) return known;
  const pairs = (map.items as Pair<Node, Node | null>[]).flatMap((pair) =>
    isScalar(pair.key) ? [[String(pair.key.value), pair] as const] : [],
  );
  const byKey = new Map(pairs);
  pairsByMap.set(map, byKey);
  return byKey;
}

function childAt(node: Node | null, step: string | number): Child {
  if (isMap(node)) {
    const pair = pairsOf(node).get(String(step));
    return pair === undefined ? {} : { key: pair.key, value: pair.value };
  }
  if (isSeq(node) && typeof step === "number") return { value: node.items[step] as Node | undefined };
  return {};
}
