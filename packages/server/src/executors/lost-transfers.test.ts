import type { ReadonlyState } from "@headroom/engine";
import type { ExecutorCapabilities } from "@headroom/model";
import { expect, it } from "vitest";
import { lostTransfers } from "./lost-transfers.ts";

const base = { checkpointOnRequest: true, resize: false, replaceWorkers: false, logs: true };
const none = { ...base, inputs: false, uploads: false };
const work = (spec: object, endedAtMs: number | null = null): object => ({
  endedAtMs,
  spec: { team: "default", dir: null, checkpointDir: null, ...spec },
});

/** Work of every need, pools of the executor `k8s`, and of `local` with the capabilities; absent: no pool. */
function stateOf(known: ExecutorCapabilities | null, local?: ExecutorCapabilities): ReadonlyState {
  const named = [
    { checkpointStore: "lake" },
    { data: { store: "lake" }, produces: ["model:chat"] },
    { data: { inputs: ["s3://lake/text"] } },
    { data: { inputs: ["/data/text"] } },
  ].map((spec, index) => [`w${index}`, work(spec)] as const);
  return {
    executors: new Map([
      ...(known === null ? [] : ([["k8s", { capabilities: known }]] as const)),
      ["local", { capabilities: local }],
    ]),
    pools: new Map([
      ["p", { executor: "k8s" }],
      ...(local === undefined ? [] : ([["q", { executor: "local" }]] as const)),
    ]),
    stores: new Map([["lake", { name: "lake", root: "s3://lake/", site: null, links: [] }]]),
    workloads: new Map([...named, ["w9", work({ checkpointStore: "lake" }, 5)]]),
  } as unknown as ReadonlyState;
}

it("counts live work that has no pool left", () => {
  expect(lostTransfers(stateOf(base), { id: "k8s", capabilities: none })).toContain(
    "the executor k8s copies no inputs from stores and uploads no outputs: 3 live workloads have no pool",
  );
  const noInputs = { ...base, inputs: false, uploads: true };
  const oneLost = lostTransfers(stateOf(base), { id: "k8s", capabilities: noInputs });
  expect(oneLost).toContain("1 live workload has no pool at the next start. State readsStores: true in its settings");
  expect(lostTransfers(stateOf(base, { ...base, inputs: false }), { id: "k8s", capabilities: none })).toContain(
    "1 live",
  );
});

it("counts live work that names directories from which nothing is uploaded", () => {
  const named = work({ checkpointStore: "lake", checkpointDir: "/scratch/a/ckpt" });
  const before = { ...base, inputs: true, uploads: true };
  const state = { ...stateOf(before), workloads: new Map([["w1", named]]) } as unknown as ReadonlyState;
  const capabilities = { ...before, uploadsFrom: [] };
  expect(lostTransfers(state, { id: "k8s", capabilities })).toContain("name a dir or checkpoint.dir (1)");
  expect(lostTransfers(stateOf(before), { id: "k8s", capabilities })).toBeNull();
});

it("is silent where nothing is lost", () => {
  expect(lostTransfers(stateOf(null), { id: "k8s", capabilities: none })).toBeNull();
  expect(lostTransfers(stateOf(none), { id: "k8s", capabilities: none })).toBeNull();
  expect(lostTransfers(stateOf(base), { id: "k8s", capabilities: base })).toBeNull();
  expect(lostTransfers(stateOf(base, base), { id: "k8s", capabilities: none })).toBeNull();
});
