/** Answers whether work, or a registration of an artifact, may use bytes that lie in stores. Refusals are sentences. */
import path from "node:path";
import { fileURLToPath } from "node:url";
import { rootOf } from "./store-declaration.ts";
import type { PlaceDeclaration } from "./store-declaration.ts";
import { isUploaded, isUploadOf, mayRead } from "./store-rights.ts";
import type { UploadOwner } from "./store-rights.ts";

export interface ReadAccess {
  /** Team of the work that reads. */
  readonly team: string;
  /** Data rule of that work. Absent: none. */
  readonly rule?: string | undefined;
  /** True: only names are read, so the rule of the bytes does not count. Absent: false. */
  readonly isList?: boolean;
  /** True: the work wrote the bytes itself, so it may read them whatever their store admits. Absent: false. */
  readonly isOwn?: boolean;
  /** `null`: the bytes are named by their URI. */
  readonly version: (UploadOwner & { readonly rule?: string | undefined }) | null;
}

/** A file URI that is written as stores write it. */
const WRITTEN = /^file:\/\/(?:\/(?!\.)[\w.+=@,~-]+)+$/;

/** The same, with a `%` that begins no escape: readers that decode escapes leave it as it is. */
const WRITTEN_PERCENT = /^file:\/\/(?:\/(?![. ])(?:[\w.+=@,~ -]|%(?![\da-f]{2}))+)+$/i;

/** The URI as stores have it: a path, and a file URI with `..`, doubled slashes or escapes, name the same bytes. */
export function plainUri(uri: string): string {
  if (WRITTEN.test(uri)) return uri;
  if (uri.startsWith("/")) return `file://${path.posix.normalize(uri)}`;
  if (!/^file:/i.test(uri)) return uri;
  try {
    return `file://${path.posix.normalize(fileURLToPath(uri))}`;
  } catch {
    return uri;
  }
}

/** Paths may have `#`, `?` and `%`, which mean something else in a file URI: readers may take the text as it is written, or decoded. */
function readingsOf(uri: string): readonly string[] {
  const plain = plainUri(uri);
  if (plain === uri || !/^file:/i.test(uri)) return [plain];
  const written = uri.replace(/^file:(?:\/\/(?:localhost)?)?(?=\/)/i, "");
  return [plain, `file://${path.posix.normalize(written)}`];
}

/** Whether some reader finds the bytes of the URI below the root of a store. */
export const isBelow = (uri: string, root: string): boolean => readingsOf(uri).some((each) => each.startsWith(root));

interface Located {
  readonly store: PlaceDeclaration;
  readonly key: string;
}

/** For each reading of the URI the store with the longest place that contains it. Each of them decides about the URI. */
function locatedIn(places: readonly PlaceDeclaration[], uri: string): readonly Located[] {
  return readingsOf(uri).flatMap((reading) => {
    const found = places.filter((each) => reading.startsWith(rootOf(each)));
    const [store] = found.toSorted((left, right) => rootOf(right).length - rootOf(left).length);
    return store === undefined ? [] : [{ store, key: reading.slice(rootOf(store).length) }];
  });
}

/** The store with the longest place that contains the URI; `null`: none does. */
export const storeAround = (places: readonly PlaceDeclaration[], uri: string): PlaceDeclaration | null =>
  locatedIn(places, uri)[0]?.store ?? null;

/** Readers such as urllib of Python take off spaces, `<>` and `URL:` around a URI. */
const WRAPPED = /^(?:[\s<]|url:)+file:/i;

/** A file URI with a host, an escaped slash or a broken escape: readers take it for different paths, so no store is known to have its bytes. */
function unclearRefusal(places: readonly PlaceDeclaration[], uri: string): string | null {
  if (places.length === 0) return null;
  if (WRAPPED.test(uri)) return `${uri} is not clear to all readers. Write it as a path.`;
  if (WRITTEN.test(uri) || !/^file:/i.test(uri) || WRITTEN_PERCENT.test(uri)) return null;
  try {
    fileURLToPath(uri);
    return null;
  } catch {
    // Stores write keys below their path as it is, also if the path has an escape.
    const isOfStore = locatedIn(places, uri).some(({ key }) => WRITTEN.test(`file:///${key}`));
    return isOfStore ? null : `${uri} is not clear to all readers. Write it as a path, or with %25 for %.`;
  }
}

/** A directory above a store contains the bytes of that store, with rights and rules of their own. */
function mixedRefusal(places: readonly PlaceDeclaration[], uri: string): string | null {
  const unclear = unclearRefusal(places, uri);
  if (unclear !== null) return unclear;
  const folders = readingsOf(uri).map((each) => `${each.replace(/\/+$/, "")}/`);
  const inner = places.find((each) => folders.some((folder) => rootOf(each).startsWith(folder)));
  return inner === undefined ? null : `${uri} contains the store ${inner.name}. Name a path within one store.`;
}

/** The reason for which the work must not read the URI; `null`: it may, or the URI is in no store. */
export function readingRefusal(places: readonly PlaceDeclaration[], uri: string, access: ReadAccess): string | null {
  const mixed = mixedRefusal(places, uri);
  if (mixed !== null) return mixed;
  const refusals = locatedIn(places, uri).map((located) => storeRefusal(located, uri, access));
  return refusals.find((each) => each !== null) ?? null;
}

function storeRefusal(
  { store, key }: Located,
  uri: string,
  { team, rule, version, isList = false, isOwn = false }: ReadAccess,
): string | null {
  if (!mayRead(store, team))
    return `The store ${store.name} is not open to the team ${team}. Ask an administrator to add the team to readers of the store.`;
  if (isUploaded(key) && (version === null || !isUploadOf(key, version)))
    return `${uri} is an uploaded artifact of the store ${store.name}. Name the version, such as model:chat@3, in place of the URI.`;
  // Bytes without a rule of their own have those of their store.
  if (isList || isOwn || version?.rule !== undefined || store.rules.length === 0) return null;
  if (rule !== undefined && store.rules.includes(rule)) {
    if (store.rules.length === 1) return null;
    return `The store ${store.name} has data with the rules ${store.rules.join(", ")}, and a URI does not say which one its bytes have. Register them with their rule and name the version, or declare a store for the part that has the rule ${rule}.`;
  }
  const has = rule === undefined ? "none" : `the rule ${rule}`;
  return `The store ${store.name} has data with rules (${store.rules.join(", ")}), and the workload has ${has}. Set data.rule, or register the bytes with their rule and name the version.`;
}

export type ContentRule =
  | { readonly kind: "rule"; readonly rule: string | undefined }
  | { readonly kind: "refused"; readonly message: string };

/**
 * The rule of a version whose bytes lie at these places. A version without a rule inherits the rule of its store, so that no
 * registration takes the rule off the bytes; a store with several rules does not say which one, so that is refused.
 */
export function contentRule(
  places: readonly PlaceDeclaration[],
  uris: readonly string[],
  { owner, rule }: { readonly owner: UploadOwner; readonly rule: string | undefined },
): ContentRule {
  let found = rule;
  const mixed = uris.map((uri) => mixedRefusal(places, uri)).find((each) => each !== null);
  if (mixed !== undefined && mixed !== null) return refused(mixed.replace(/\.$/, ""));
  for (const { uri, store, key } of locatedAll(places, uris)) {
    const { name, rules } = store;
    if (!mayRead(store, owner.team)) return refused(`${uri}: the store ${name} is not open to the team ${owner.team}`);
    if (isUploaded(key) && !isUploadOf(key, owner))
      return refused(`${uri}: the store ${name} has an uploaded artifact of another name there`);
    if (found === undefined && rules.length > 1)
      return refused(`${uri}: the store ${name} has data with the rules ${rules.join(", ")}. State the rule`);
    found ??= rules[0];
  }
  if (found === undefined) return { kind: "rule", rule: undefined };
  const outside = outsideOf(places, uris, found);
  return outside === null ? { kind: "rule", rule: found } : refused(outside);
}

/** The first place that is in a store which does not admit the rule; `null`: each is where the rule allows, or in no store. */
export function outsideOf(places: readonly PlaceDeclaration[], uris: readonly string[], rule: string): string | null {
  for (const { uri, store } of locatedAll(places, uris)) {
    if (store.rules.includes(rule)) continue;
    const admitted = store.rules.length === 0 ? "no data rule" : store.rules.join(", ");
    return `${uri}: the store ${store.name} admits ${admitted}, and the version has the rule ${rule}`;
  }
  return null;
}

const locatedAll = (places: readonly PlaceDeclaration[], uris: readonly string[]) =>
  uris.flatMap((uri) => locatedIn(places, uri).map((located) => ({ uri, ...located })));

const refused = (message: string): ContentRule => ({ kind: "refused", message });
