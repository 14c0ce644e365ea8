import { gangOfGroups, nodeId } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { ConformanceWorld } from "../conformance/conformance-world.ts";
import { visibleDevices, workerEnvironments } from "./worker-environment.ts";

/** The tests use this only to build environments. It is not opened, so nothing is written. */
const world = new ConformanceWorld(
  {
    id: "local",
    open: () => {
      throw new Error("not opened here");
    },
  },
  "/nowhere",
);
const place = {
  progressFile: "/a/progress.jsonl",
  checkpointRequestFile: "/a/checkpoint-request.json",
  checkpointDir: "/ckpt",
  session: {},
  devices: [],
};

describe("the environment of workers", () => {
  it("counts local ranks by node", () => {
    const launch = world.launch("true", { workers: 4 });
    const nodes = ["a", "b", "a", "a"];
    const workers = nodes.map((node) => ({ node: nodeId(node), accelerators: "" }));
    const environments = workerEnvironments({ ...launch, workers }, place);
    expect(environments.map((environment) => environment["LOCAL_RANK"])).toEqual(["0", "0", "1", "2"]);
    expect(environments.map((environment) => environment["LOCAL_WORLD_SIZE"])).toEqual(["3", "1", "3", "3"]);
  });

  it("tells a worker of a gang of groups which it is of, and its place there", () => {
    const shape = { coresMilli: 0, memoryMib: 0 };
    const gang = gangOfGroups([
      { name: "prefill", workers: 1, accelerators: 1, ...shape },
      { name: "decode", workers: 2, accelerators: 4, ...shape },
    ]);
    const launch = world.launch("true");
    const workers = [0, 1, 1].map((group) => ({ node: nodeId("a"), accelerators: "", taskGroup: group }));
    const environments = workerEnvironments({ ...launch, spec: { ...launch.spec, gang }, workers }, place);
    const named = ["RANK", "WORLD_SIZE", "HEADROOM_GROUP", "HEADROOM_GROUP_RANK", "HEADROOM_GROUP_SIZE"] as const;
    expect(environments.map((environment) => named.map((name) => environment[name]).join(" "))).toEqual([
      "0 3 prefill 0 1",
      "1 3 decode 0 2",
      "2 3 decode 1 2",
    ]);
    expect(environments.map((environment) => environment["NPROC_PER_NODE"])).toEqual(["1", "4", "4"]);
    expect(workerEnvironments(launch, place)[0]).not.toHaveProperty("HEADROOM_GROUP");
  });

  it("tells a worker with a part of an accelerator which part and where, and no other worker anything of it", () => {
    const gang = { workers: 2, accelerators: 1, coresMilli: 0, memoryMib: 0, profile: "3g.40gb" };
    const launch = world.launch("true");
    const workers = [0, 4].map((slice) => ({ node: nodeId("a"), accelerators: "1", slice }));
    const devices = workers.map((worker) => visibleDevices(worker, { vendor: "nvidia", deviceIndices: [4, 5] }));
    const environments = workerEnvironments(
      { ...launch, spec: { ...launch.spec, gang }, workers },
      { ...place, devices },
    );
    const names = ["CUDA_VISIBLE_DEVICES", "HEADROOM_ACCELERATOR_PROFILE", "HEADROOM_ACCELERATOR_SLICE"] as const;
    expect(environments.map((environment) => names.map((name) => environment[name]).join(" "))).toEqual([
      "5 3g.40gb 0",
      "5 3g.40gb 4",
    ]);
    expect(Object.keys(workerEnvironments(launch, place)[0] ?? {}).join()).not.toContain("HEADROOM_ACCELERATOR");
  });

  it("tells where that lies which was waited for", () => {
    const launch = { ...world.launch("true"), artifacts: [{ name: "best-model", path: "/ckpt/7" }] };
    expect(workerEnvironments(launch, place)[0]).toMatchObject({ HEADROOM_ARTIFACT_BEST_MODEL: "/ckpt/7" });
  });

  it("takes npm's tools out of the path and nothing else", () => {
    const session = {
      PATH: "/p/node_modules/.bin:/node_modules/.bin:/x/node-gyp-bin:/usr/bin:/opt/node_modules/.bin.old:/bin",
      HOME: "/home/me",
      NODE_OPTIONS: "--inspect",
      npm_config_cache: "/cache",
      HEADROOM_TOKEN: "secret",
    };
    const [environment] = workerEnvironments(world.launch("true"), { ...place, session });
    expect(environment).toMatchObject({ PATH: "/usr/bin:/opt/node_modules/.bin.old:/bin", HOME: "/home/me" });
    expect(Object.keys(environment ?? {}).filter((name) => /npm|NODE_OPTIONS|TOKEN/.test(name))).toEqual([]);
  });

  it("lets the workload change its session but not the contract", () => {
    const launch = world.launch("true", { env: { PATH: "/mine", CUDA_VISIBLE_DEVICES: "0,1,2,3", LANG: "C" } });
    const [environment] = workerEnvironments(launch, { ...place, session: { PATH: "/usr/bin", LANG: "de_DE.UTF-8" } });
    expect(environment).toMatchObject({ PATH: "/mine", LANG: "C", CUDA_VISIBLE_DEVICES: "" });
  });

  it("names the devices as the vendor numbers them, and positions where HIP counts what ROCr has left", () => {
    const allocation = { node: nodeId("desk"), accelerators: "0,2" };
    const environmentFor = (vendor: "nvidia" | "amd"): Record<string, string> | undefined => {
      const devices = [visibleDevices(allocation, { vendor, deviceIndices: [1, 2, 3] })];
      return workerEnvironments(world.launch("true"), { ...place, devices })[0];
    };
    expect(environmentFor("nvidia")).toMatchObject({ CUDA_VISIBLE_DEVICES: "1,3", ROCR_VISIBLE_DEVICES: "1,3" });
    expect(environmentFor("amd")).toMatchObject({ CUDA_VISIBLE_DEVICES: "0,1", ROCR_VISIBLE_DEVICES: "1,3" });
  });
});
