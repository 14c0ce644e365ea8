/** Stores that operators declare, and the caches of inputs on nodes. */
import { z } from "zod";
import { count, instantMs, names } from "@headroom/spec";
import { executorSettings } from "./executor.ts";
import { commandProblems } from "./operation-problems.ts";
import { operation } from "./operation.ts";

const store = z
  .object({
    name: z.string(),
    type: z.enum(["s3", "oci", "shared", "local"]),
    place: z.string().meta({ description: "URI with which all objects of the store begin." }),
    settings: z.record(z.string(), z.unknown()),
  })
  .meta({ id: "Store" });

const storeList = z.object({ items: z.array(store) }).meta({ id: "StoreList" });

const storeRequest = z
  .strictObject({
    type: z
      .enum(["s3", "oci", "shared", "local"])
      .meta({ description: "Type of the store (docs/how-to/use-stores.md)." }),
    settings: executorSettings.optional(),
  })
  .meta({ id: "StoreRequest" });

const storeSet = z
  .object({ name: z.string(), action: z.enum(["created", "changed", "unchanged"]) })
  .meta({ id: "StoreDeclared" });

const storeRemoved = z.object({ name: z.string() }).meta({ id: "StoreRemoved" });

const storeCache = z
  .object({
    executor: z.string(),
    path: z.string(),
    capacity: count.meta({ description: "Most bytes." }),
    bytes: count,
    itemCount: count,
    items: z
      .array(
        z.object({
          uri: z.string(),
          digest: z.string().nullable().meta({ description: "Null: the version has no digest." }),
          bytes: count,
          usedAtMs: instantMs.meta({ description: "Start of the last attempt that used it." }),
          holders: z
            .array(z.string())
            .meta({ description: "Attempts that use it. It is not evicted before they end." }),
        }),
      )
      .meta({ description: "At most 1,000, the last used first." }),
  })
  .meta({ id: "StoreCache" });

const storeCacheList = z.object({ items: z.array(storeCache) }).meta({ id: "StoreCacheList" });

const byStore = z.strictObject({ name: names.storeName });

export const storeOperations = {
  stores: operation("GET /v1/stores", "Declared stores", storeList, { permission: "fleet.read" }),
  storeCaches: operation(
    "GET /v1/store-caches",
    "Caches of inputs on nodes, and the attempts that hold them",
    storeCacheList,
    {
      permission: "fleet.read",
    },
  ),
  declareStore: operation("PUT /v1/stores/{name}", "Declare a store, or replace its declaration", storeSet, {
    permission: "executors.write",
    params: byStore,
    body: storeRequest,
    problems: ["tooManyStores", "storeConflict", ...commandProblems],
  }),
  removeStore: operation(
    "DELETE /v1/stores/{name}",
    "Remove the declaration of a store; its bytes stay",
    storeRemoved,
    {
      permission: "executors.write",
      params: byStore,
      problems: ["unknownStore", ...commandProblems],
    },
  ),
};

export type Store = z.output<typeof store>;
export type StoreList = z.output<typeof storeList>;
export type StoreRequestInput = z.input<typeof storeRequest>;
export type StoreDeclared = z.output<typeof storeSet>;
export type StoreRemoved = z.output<typeof storeRemoved>;
export type StoreCacheList = z.output<typeof storeCacheList>;
