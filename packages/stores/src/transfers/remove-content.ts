/** Removes an uploaded file or directory from a store, also what an interrupted upload left of it. */
import type { ObjectStore } from "../objects/object-store.ts";

/** Objects of one removal; the rest is found by the next one. */
const OBJECTS_MAX = 100_000;

/** `key`: as of the upload, without a slash at the end. A removal that was interrupted is repeated as a whole. */
export async function removeContent(store: ObjectStore, key: string, signal: AbortSignal): Promise<void> {
  if (key === "" || key.endsWith("/")) throw new Error(`${JSON.stringify(key)} is no key of an upload`);
  const keys: string[] = [];
  for await (const page of store.list(`${key}/`, signal)) {
    for (const object of page) if (object.key.startsWith(`${key}/`)) keys.push(object.key);
    if (keys.length >= OBJECTS_MAX) break;
  }
  for (const each of [...keys, key]) await store.remove(each, signal);
}
