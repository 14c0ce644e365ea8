/** Artifacts of runs stay those of their workloads, whatever becomes of the tags, of the models and of what the engine knows. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { recordRules, refuseRuled, rulesOfTags } from "./artifact-rules.ts";
import { Fields } from "./fields.ts";
import { mlflowHandlers } from "./handlers.ts";
import { MlflowDatabase } from "./mlflow-database.ts";

type Parts = Parameters<typeof refuseRuled>[0];
type Handlers = ReturnType<typeof mlflowHandlers>;
const user = "ann";
const key = "headroom.workload_id";

let database: MlflowDatabase;
let handlers: Handlers;
/** Workloads that the engine knows. */
let workloads: Map<string, object>;
let pools: Map<string, object>;
const work = (id: string, rule?: string): object => ({ id, spec: { name: `name-${id}`, data: { rule } } });

beforeEach(() => {
  database = new MlflowDatabase(":memory:", 0);
  handlers = mlflowHandlers(database, () => {});
  pools = new Map([["gpu", { data: { rules: ["restricted"] } }]]);
  workloads = new Map([
    ["w1", work("w1", "restricted")],
    ["w2", work("w2")],
  ]);
});
afterEach(() => database.close());

const parts = {
  driver: {
    read: (use: (engine: object) => unknown) => Promise.resolve(use({ state: { workloads, pools, sites: new Map() } })),
  },
  mlflow: {
    hasDatabase: true,
    call: ({ call, values, rules }: Parameters<Parts["mlflow"]["call"]>[0]) =>
      Promise.resolve({
        status: 200,
        body: JSON.stringify(handlers[call](new Fields(values, "query"), { nowMs: 0, user, rules })),
      }),
  },
} as unknown as Parts;

async function send(call: keyof Handlers, values: object): Promise<object> {
  const rules = await rulesOfTags(parts, values);
  return handlers[call](new Fields(values, "body"), { nowMs: 0, user, rules });
}

async function createRun(...tags: readonly object[]): Promise<string> {
  const { run } = (await send("createRun", { experiment_id: "0", tags })) as {
    readonly run: { readonly info: { readonly run_id: string } };
  };
  return run.info.run_id;
}

const give = (folder: string): Promise<void> =>
  refuseRuled(parts, { artifact: `0/${folder}/artifacts/weights`, user, does: "given out" });

it.each([
  ["when the run is created", (tag: object) => createRun(tag)],
  [
    "by set-tag",
    async (tag: object) => {
      const run_id = await createRun();
      await send("setTag", { run_id, ...tag });
      return run_id;
    },
  ],
  [
    "by log-batch",
    async (tag: object) => {
      const run_id = await createRun();
      await send("logBatch", { run_id, tags: [tag] });
      return run_id;
    },
  ],
])("follow the rule of work that the engine has dropped, linked %s", async (_, link) => {
  const [ruled, free] = [await link({ key, value: "w1" }), await link({ key, value: "w2" })];
  workloads.clear();
  await expect(give(ruled)).rejects.toThrow(/data of "w1" has the rule restricted.*not given out/);
  await give(free);
});

it("are refused where a workload is not known, nor was when the run was linked", async () => {
  const run = await createRun({ key, value: "w9" });
  await expect(give(run)).rejects.toThrow(/The workload "w9" of the run is not known/);
  // The place that admitted its rule may have left the fleet.
  pools.clear();
  await expect(give(run)).rejects.toThrow(/The workload "w9" of the run is not known/);
});

it.each([
  ["at a start", (): Promise<void> => recordRules(parts)],
  ["when an artifact is read", (ruled: string): Promise<void> => give(ruled).catch(() => {})],
])("follow the rules of runs that earlier builds tagged, which are recorded %s", async (_, see) => {
  const [ruled, free, changed] = [
    await createRun({ key, value: "w1" }),
    await createRun({ key, value: "w2" }),
    await createRun({ key, value: "w1" }),
  ];
  database.run("DELETE FROM workload_link");
  await send("deleteTag", { run_id: changed, key });
  await see(ruled);
  await see(free);
  workloads.clear();
  for (const each of [ruled, changed]) await expect(give(each)).rejects.toThrow(/data of "w1" has the rule restricted/);
  await give(free);
});

it.each([
  ["is removed", "deleteTag", {}],
  ["names another workload", "setTag", { value: "w2" }],
] as const)("stay refused when the tag %s", async (_, call, change) => {
  const run_id = await createRun({ key, value: "w1" });
  for (const isOfEarlierBuild of [false, true]) {
    if (isOfEarlierBuild) {
      await send("setTag", { run_id, key, value: "w1" });
      database.run("DELETE FROM workload_link");
    }
    await send(call, { run_id, key, ...change });
    await expect(give(run_id)).rejects.toThrow(/data of name-w1 has the rule restricted/);
  }
});

it("stay refused when the logged model is deleted, also if the run is linked later", async () => {
  const run_id = await createRun();
  const { model } = (await send("createLoggedModel", { experiment_id: "0", source_run_id: run_id })) as {
    readonly model: { readonly info: { readonly model_id: string } };
  };
  const { model_id } = model.info;
  await give(`models/${model_id}`);
  await send("deleteLoggedModel", { model_id });
  await send("setTag", { run_id, key, value: "w1" });
  await expect(give(`models/${model_id}`)).rejects.toThrow(/data of name-w1 has the rule restricted/);
});

it("are stored at paths of runs alone while places admit data rules", async () => {
  const model = async (fields: object): Promise<string> => {
    const { model: made } = (await send("createLoggedModel", { experiment_id: "0", ...fields })) as {
      readonly model: { readonly info: { readonly model_id: string } };
    };
    return made.info.model_id;
  };
  const run = await createRun();
  const store = (folder: string): Promise<void> =>
    refuseRuled(parts, { artifact: `0/${folder}/artifacts/weights`, user, does: "stored" });
  const ofNone = [await model({}), await model({ source_run_id: "f".repeat(32) }), "a"];
  await store(run);
  await store(await model({ source_run_id: run }));
  for (const each of ofNone) {
    await expect(store(each)).rejects.toThrow(/belongs to no run/);
    // Earlier ones stay readable.
    await give(each);
  }
  pools.clear();
  for (const each of ofNone) await store(each);
});

it("belong to at most a hundred workloads", async () => {
  const run_id = await createRun({ key, value: "w1" });
  const link = (id: number): Promise<object> => send("setTag", { run_id, key, value: `w${id}` });
  for (let id = 2; id <= 100; id += 1) await link(id);
  await expect(link(101)).rejects.toThrow(/at most 100 workloads/);
  await link(100);
});
