/** Declared stores, and the caches of inputs. */
import { refuse } from "@headroom/protocol";
import type { Store, StoreCacheList, StoreList, StoreRemoved, StoreDeclared } from "@headroom/protocol";
import { readStore, rootOf, storeConflict } from "@headroom/stores";
import type { StoreDeclaration } from "@headroom/stores";
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

export async function declareStore(
  { storeService, log }: ControlPlane,
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
  const conflict = storeConflict(known, reading.declaration);
  if (conflict !== null) throw refuse("storeConflict", conflict);
  const action = storeService.declare(reading.declaration);
  log.info(`The store ${name} is ${action} by ${call.actor ?? "an unknown user"}.`);
  return { name, action };
}

export async function removeStore(
  { storeService, log }: ControlPlane,
  call: Call<"removeStore">,
): Promise<StoreRemoved> {
  const { name } = call.params;
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
