/** Declared stores, and the caches of inputs. */
import { DEFAULT_TEAM, notAChoice, refuse } from "@headroom/protocol";
import type { ProblemError, WorkloadSpec } from "@headroom/protocol";
import type { Store, StoreCacheList, StoreList, StoreRemoved, StoreDeclared } from "@headroom/protocol";
import type { ReadonlyState } from "@headroom/engine";
import type { ArtifactContent, ArtifactName, ArtifactPlace } from "@headroom/model";
import {
  contentRule,
  mayWrite,
  outsideOf,
  readingRefusal,
  readStore,
  rootOf,
  isBelow,
  storeAround,
  storeConflict,
} from "@headroom/stores";
import type { PlaceDeclaration, StoreDeclaration } from "@headroom/stores";
import type { Call } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";

/** Each store has connections of its own; a fleet has a few. */
const STORES_MAX = 100;
/** Entries of a cache that are shown. */
const ITEMS_SHOWN_MAX = 1_000;

export const stores = async ({ storeService }: ControlPlane): Promise<StoreList> => ({
  items: storeService.list().map(storeResource),
});

/** The settings name secrets by reference only, so they can be shown. */
function storeResource(declaration: StoreDeclaration): Store {
  const { kind: _kind, name, type, ...settings } = declaration;
  return { name, type, place: rootOf(declaration), settings };
}

interface WorkOfStores {
  /** JSON pointer of the workload in the request. */
  readonly pointer: string;
  readonly spec: Partial<Pick<WorkloadSpec, "team" | "data" | "kind" | "checkpointStore">>;
}

/** The refusal of the first workload that names a store without the right to it, or `null`. */
export function storeRefusal(
  declared: readonly StoreDeclaration[],
  specs: readonly WorkOfStores[],
): ProblemError | null {
  const places = declared.filter((each) => each.type !== "local");
  for (const { pointer, spec } of specs) {
    const written = writingRefusal(places, spec, spec.data?.store) ?? unclearRule(places, spec);
    if (written !== null) return invalid(`${pointer}/data/store`, "data.store", written);
    const drained = checkpointRefusal(places, spec);
    if (drained !== null) return invalid(`${pointer}/checkpointStore`, "checkpoint.store", drained);
    for (const [index, uri] of (spec.data?.inputs ?? []).entries()) {
      const access = { team: spec.team ?? DEFAULT_TEAM, rule: spec.data?.rule, version: null };
      const refusal = readingRefusal(places, uri, access);
      if (refusal !== null) return invalid(`${pointer}/data/inputs/${index}`, "data.inputs", refusal);
    }
  }
  return null;
}

const invalid = (pointer: string, field: string, message: string): ProblemError =>
  refuse("invalidRequest", `The request is not valid. ${field}: ${message.replace(/\.$/, "")}.`, {
    errors: [{ pointer, message }],
  });

/** Uploads without a rule get that of their store, unless it has several. */
function unclearRule(places: readonly PlaceDeclaration[], { data }: WorkOfStores["spec"]): string | null {
  const store = places.find((each) => each.name === data?.store);
  if (store === undefined || store.rules.length < 2 || data?.rule !== undefined) return null;
  return `the store ${store.name} has data with the rules ${store.rules.join(", ")}, and does not say which one uploads have; set data.rule`;
}

function checkpointRefusal(places: readonly PlaceDeclaration[], spec: WorkOfStores["spec"]): string | null {
  if (spec.checkpointStore === undefined || spec.kind === "train")
    return writingRefusal(places, spec, spec.checkpointStore);
  return "is only for kind: train, whose checkpoints have one owner";
}

function writingRefusal(
  places: readonly PlaceDeclaration[],
  { team, data }: WorkOfStores["spec"],
  name: string | undefined,
): string | null {
  const { rule } = data ?? {};
  if (name === undefined) return null;
  const store = places.find((each) => each.name === name);
  if (places.length === 0) return `there is no store ${name}: none is declared (headroom store add)`;
  if (store === undefined)
    return notAChoice(
      name,
      places.map((each) => each.name),
    );
  if (!mayWrite(store, team ?? DEFAULT_TEAM))
    return `the store ${name} does not let the team ${team ?? DEFAULT_TEAM} write; an administrator can add the team to its writers`;
  return rule !== undefined && !store.rules.includes(rule)
    ? `the store ${name} does not admit the data rule ${rule}`
    : null;
}

/** A removal that leaves bytes with rules to a store around them which has other rules. `null`: none does. */
export function exposedBy(known: readonly StoreDeclaration[], name: string): string | null {
  const removed = known.find((each) => each.name === name);
  if (removed === undefined || removed.type === "local") return null;
  const others = known.filter((each) => each !== removed).filter((each) => each.type !== "local");
  const around = storeAround(others, rootOf(removed));
  if (around === null) return null;
  const lost = removed.rules.filter((rule) => !around.rules.includes(rule));
  if (lost.length === 0) return null;
  return `The bytes of the store ${name} would belong to the store ${around.name} around it, which lacks the rules ${lost.join(", ")}. Remove ${around.name} first, or add the rules to it.`;
}

/** Versions that a refused declaration names. */
const VERSIONS_LISTED_MAX = 3;

/**
 * A declaration that takes a version out of the stores that admit its rule, or that of its store, or leaves the bytes of a moved store to another.
 * Versions that were outside before are no reason: a key or a reader must be replaceable. `null`: nothing gets worse.
 */
export function bytesOutside(
  state: Pick<ReadonlyState, "artifactVersions">,
  known: readonly StoreDeclaration[],
  added: StoreDeclaration,
): string | null {
  const before = known.filter((each) => each.type !== "local");
  const replaced = known.find(({ name }) => name === added.name);
  const isMoved = replaced !== undefined && rootOf(replaced) !== rootOf(added);
  const exposed = isMoved ? exposedBy(known, added.name) : null;
  if (exposed !== null) return exposed;
  const after = [...known.filter((each) => each !== replaced), added].filter((each) => each.type !== "local");
  const roots = [rootOf(added), ...(replaced === undefined ? [] : [rootOf(replaced)])];
  const getsWorse = (uri: string, rule: string): boolean =>
    storeAround(before, uri) !== null &&
    outsideOf(before, [uri], rule) === null &&
    outsideOf(after, [uri], rule) !== null;
  const found: string[] = [];
  for (const { id, rule, places, deleted } of state.artifactVersions.values()) {
    if (deleted !== undefined) continue;
    // A version without a rule has those of its store.
    const lost = places.flatMap(({ uri, state: at }) => {
      if (at === "missing" || !roots.some((root) => isBelow(uri, root))) return [];
      const rules = rule === undefined ? (storeAround(before, uri)?.rules ?? []) : [rule];
      return rules.filter((each) => getsWorse(uri, each));
    });
    if (lost.length > 0) found.push(`${id} (${lost[0] ?? ""})`);
  }
  if (found.length === 0) return null;
  const more = found.length > VERSIONS_LISTED_MAX ? ` and ${found.length - VERSIONS_LISTED_MAX} more` : "";
  return `The store ${added.name} would hold versions whose data rules it does not admit: ${found.slice(0, VERSIONS_LISTED_MAX).join(", ")}${more}. Add the rules to its rules, or remove these places or versions first.`;
}

export async function declareStore(
  { storeService, driver, log }: ControlPlane,
  call: Call<"declareStore">,
): Promise<StoreDeclared> {
  const { name } = call.params;
  const { type, settings } = call.body;
  const reading = readStore({ kind: "store", name, type, ...settings });
  if (!reading.ok) {
    const errors = reading.problems.map(({ path, message }) => ({ pointer: `/${path.join("/")}`, message }));
    const text = errors.map(({ pointer, message }) => `${pointer}: ${message}`).join("; ");
    throw refuse("invalidRequest", `The declaration of the store is not valid. ${text}.`, { errors });
  }
  const known = storeService.list();
  if (known.length >= STORES_MAX && !known.some((each) => each.name === name))
    throw refuse("tooManyStores", `${known.length} stores are declared, and ${STORES_MAX} are possible.`);
  const conflict = storeConflict(known, reading.declaration) ?? storeService.stateConflict(reading.declaration);
  if (conflict !== null) throw refuse("storeConflict", conflict);
  const outside = await driver.read(({ state }) => bytesOutside(state, known, reading.declaration));
  if (outside !== null) throw refuse("storeConflict", outside);
  const action = storeService.declare(reading.declaration);
  log.info(`The store ${name} is ${action} by ${call.actor ?? "an unknown user"}.`);
  return { name, action };
}

/**
 * The rule of a version whose bytes lie in declared stores. Refuses places that the version's team cannot read, and rules
 * that would take the bytes out of those of their store.
 */
export function ruleOfVersion(
  { storeService }: Pick<ControlPlane, "storeService">,
  artifact: ArtifactName & Pick<ArtifactContent, "places" | "rule">,
): string | undefined {
  const places = storeService.list().filter((each) => each.type !== "local");
  const uris = artifact.places.map(({ uri }) => uri);
  const found = contentRule(places, uris, { owner: artifact, rule: artifact.rule });
  if (found.kind === "rule") return found.rule;
  throw refuse("invalidRequest", `The version cannot be registered. ${found.message}.`, {
    errors: [{ pointer: "/places", message: found.message }],
  });
}

/** The first store with rules among the places; `null`: none has. */
export function ruledStoreOf(
  { storeService }: Pick<ControlPlane, "storeService">,
  places: readonly Pick<ArtifactPlace, "uri" | "state">[],
): PlaceDeclaration | null {
  const stores = storeService.list().filter((each) => each.type !== "local");
  for (const { uri, state } of places) {
    const store = state === "missing" ? null : storeAround(stores, uri);
    if (store !== null && store.rules.length > 0) return store;
  }
  return null;
}

export async function removeStore(
  { storeService, log }: ControlPlane,
  call: Call<"removeStore">,
): Promise<StoreRemoved> {
  const { name } = call.params;
  const exposed = exposedBy(storeService.list(), name);
  if (exposed !== null) throw refuse("storeConflict", exposed);
  if (!storeService.remove(name))
    throw refuse("unknownStore", `No store ${name} is declared. List them: headroom store list`);
  log.info(`The store ${name} is removed by ${call.actor ?? "an unknown user"}.`);
  return { name };
}

export async function storeCaches({ executors }: ControlPlane): Promise<StoreCacheList> {
  const found = await Promise.all(
    [...executors.values()].map(async (executor) => ({
      executor: executor.id,
      report: (await executor.inputCache?.()) ?? null,
    })),
  );
  return {
    items: found.flatMap(({ executor, report }) => {
      if (report === null) return [];
      const { dir, capacity, bytes, items } = report;
      const newest = items.toSorted((left, right) => right.usedAtMs - left.usedAtMs);
      const shown = newest.slice(0, ITEMS_SHOWN_MAX).map((item) => ({ ...item, holders: [...item.holders] }));
      return [{ executor, path: dir, capacity, bytes, itemCount: items.length, items: shown }];
    }),
  };
}
