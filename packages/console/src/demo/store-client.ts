/** Stores in the demo: it moves no bytes, so there are none. */
import { refuse } from "@headroom/protocol";
import type { HeadroomClient } from "@headroom/protocol";

const noStores = () => refuse("notSupported", "The demo moves no bytes, so it has no stores to declare.");

export const storeClient: Pick<HeadroomClient, "stores" | "storeCaches" | "declareStore" | "removeStore"> = {
  stores: async () => ({ items: [] }),
  storeCaches: async () => ({ items: [] }),
  declareStore: () => Promise.reject(noStores()),
  removeStore: () => Promise.reject(noStores()),
};
