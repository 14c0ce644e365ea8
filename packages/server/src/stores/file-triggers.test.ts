/** New files in a store start runs of a pipeline, each file once, also after a restart. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { SmallS3Server } from "@headroom/stores/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";
import { FileTriggers } from "./file-triggers.ts";
import { StoreService } from "./store-service.ts";

const server = new SmallS3Server();
const home = temporaryHome();
const watchHome = temporaryHome();
const warnings: string[] = [];
let live: LiveControlPlane;
let service: StoreService;
let triggers: FileTriggers;

const openTriggers = (): FileTriggers => {
  const log = { info() {}, warn: (message: string) => void warnings.push(message), error() {} };
  return new FileTriggers({ home: watchHome, driver: live.driver, stores: service.stores, log });
};

beforeAll(async () => {
  const endpoint = await server.listen();
  writeFileSync(path.join(home, "secret"), "secret\n");
  const keys = { accessKey: `file:${home}/secret`, secretKey: `file:${home}/secret` };
  live = await startLive(home);
  await live.client.declareStore("lake", { type: "s3", settings: { bucket: "lake", endpoint, ...keys } });
  service = new StoreService(home);
  triggers = openTriggers();
  server.objects.set("raw/old.csv", Buffer.from("old"));
});
afterAll(async () => {
  await triggers.close();
  await service.close();
  await live.close();
  await server.close();
  removeHome(home);
  removeHome(watchHome);
});

const spec = { kind: "train", name: "clean", team: "default", run: "true", gang: { accelerators: 0 } } as const;

async function files(): Promise<readonly unknown[]> {
  const { items } = await live.client.listPipelineRuns({});
  return items.map(({ trigger, params }) => (trigger.kind === "file" ? params["file"] : trigger.kind)).toReversed();
}

it("start one run for each new or replaced file, and none for those that were there", async () => {
  const triggersOf = [{ kind: "file", uri: "s3://lake/raw/" }] as const;
  const steps = [{ name: "clean", spec: { ...spec } }];
  await live.client.apply({
    pipelines: [{ name: "clean", params: [{ name: "file", default: null }], steps, triggers: triggersOf }],
  } as never);
  await triggers.look();
  expect(await files()).toEqual([]);
  server.objects.set("raw/a.csv", Buffer.from("a"));
  await triggers.look();
  await triggers.look();
  expect(await files()).toEqual(["s3://lake/raw/a.csv"]);
  // A store that does not answer has no new files, and loses none.
  server.faultOf = () => 503;
  await triggers.look();
  server.faultOf = () => null;
  expect(warnings.splice(0)).toEqual([expect.stringContaining("Pipeline clean does not follow s3://lake/raw/")]);
  // A look that a crash cut after the run began: what was seen is older, and the engine knows the file.
  const other = openTriggers();
  server.objects.set("raw/b.csv", Buffer.from("b"));
  await triggers.look();
  await other.look();
  await other.close();
  expect(await files()).toEqual(["s3://lake/raw/a.csv", "s3://lake/raw/b.csv"]);
  server.objects.set("raw/a.csv", Buffer.from("replaced"));
  await triggers.look();
  expect(await files()).toHaveLength(3);
});

it("are not followed in stores that the team of the pipeline cannot read", async () => {
  await live.client.apply({ teams: [{ name: "lab", parent: null, limit: {} }] });
  const steps = [{ name: "clean", spec: { ...spec, team: "lab" } }];
  const watch = [{ kind: "file", uri: "s3://lake/raw/" }];
  await live.client.apply({
    pipelines: [{ name: "closed", team: "lab", params: [], steps, triggers: watch }],
  } as never);
  await triggers.look();
  expect(warnings.splice(0)).toEqual([expect.stringContaining("The store lake is not open to the team lab")]);
});
