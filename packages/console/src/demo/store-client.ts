/** Stores and metric sources in the demo: it reads no network, so there are none. */
import { refuse } from "@headroom/protocol";
import type { HeadroomClient } from "@headroom/protocol";

const noStores = () => refuse("notSupported", "The demo moves no bytes, so it has no stores to declare.");

const noSources = () => refuse("notSupported", "The demo reads no exporters, so it has no metric sources to declare.");

export const storeClient: Pick<
  HeadroomClient,
  | "metricSources"
  | "metricTargets"
  | "declareMetricSource"
  | "removeMetricSource"
  | "stores"
  | "storeCaches"
  | "declareStore"
  | "removeStore"
> = {
  metricSources: async () => ({ items: [], remoteWrite: null }),
  metricTargets: async () => ({ items: [], nextCursor: null }),
  declareMetricSource: () => Promise.reject(noSources()),
  removeMetricSource: () => Promise.reject(noSources()),
  stores: async () => ({ items: [] }),
  storeCaches: async () => ({ items: [] }),
  declareStore: () => Promise.reject(noStores()),
  removeStore: () => Promise.reject(noStores()),
};
