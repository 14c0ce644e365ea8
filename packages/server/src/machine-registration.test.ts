import { nodeId, poolName, siteName } from "@headroom/engine";
import type { Inventory } from "@headroom/executors";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FileExecutor } from "./driver/testing/file-executor.ts";
import { removeHome, startLive, temporaryHome } from "./api/testing/live-control-plane.ts";

let home: string;
beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => removeHome(home));

/** Lists a second node, leaves it out, or fails. */
class TwoNodeExecutor extends FileExecutor {
  hasSecond = true;
  fails = false;
  inventoryCount = 0;

  override async inventory(): Promise<Inventory> {
    this.inventoryCount++;
    if (this.fails) throw new Error("no answer");
    const { nodes, ...rest } = await super.inventory();
    const second = { ...this.node(), id: nodeId("n2") };
    return { ...rest, nodes: this.hasSecond ? [...nodes, second] : nodes };
  }
}

describe("a node that its executor no longer lists", () => {
  it("is lost after the bounded time, with an event, and its work runs again elsewhere; a node that is listed again returns", async () => {
    const executor = new TwoNodeExecutor({ directory: home, slots: 1, runMs: 1 });
    const live = await startLive(home, { executors: [executor], inventory: { everyMs: 20, lostAfterMs: 300 } });
    const { client } = live;
    const gang = { accelerators: 1, coresMilli: 0 };
    const nodesOf = async (id: string): Promise<readonly string[]> => (await client.getWorkload(id)).nodes;
    const ids: string[] = [];
    for (const name of ["a", "b"])
      ids.push((await client.submitWorkload({ kind: "train", name, run: "hold", gang })).workloadId);
    for (const id of ids) await expect.poll(async () => (await client.getWorkload(id)).phase).toBe("running");
    const [first = "", second = ""] = ids;
    const onSecond = (await nodesOf(first))[0] === "n2" ? first : second;
    executor.hasSecond = false;
    await expect.poll(async () => (await client.getNode("n2")).health).toBe("lost");
    expect((await client.status()).nodes).toEqual({ total: 2, up: 1, lost: 1, draining: 0 });
    for await (const { event } of client.events()) {
      if (event.kind !== "nodeLost") continue;
      expect(event).toMatchObject({ nodeId: "n2", detail: "the executor no longer lists it" });
      break;
    }
    expect((await client.getWorkload(onSecond)).phase).toBe("pending");
    executor.hasSecond = true;
    await expect.poll(async () => (await client.getNode("n2")).health).toBe("up");
    await expect.poll(() => nodesOf(onSecond)).toEqual(["n2"]);
    await live.close();
  });

  it("stays while its executor cannot list its nodes", async () => {
    const executor = new TwoNodeExecutor({ directory: home, slots: 1, runMs: 1 });
    const live = await startLive(home, { executors: [executor], inventory: { everyMs: 10, lostAfterMs: 0 } });
    executor.fails = true;
    const before = executor.inventoryCount;
    await expect.poll(() => executor.inventoryCount).toBeGreaterThan(before + 5);
    expect((await live.client.getNode("n2")).health).toBe("up");
    expect(live.complaints[0]).toBe("the nodes of the executor local could not be listed: no answer");
    await live.close();
  });
});

describe("this machine", () => {
  it("is a site, a pool and a node after the first start, and the second finds it as it was", async () => {
    const first = await startLive(home);
    const fleet = await first.client.fleet();
    expect(fleet.sites.map(({ name }) => name)).toEqual(["local"]);
    expect(fleet.pools).toMatchObject([{ name: "local", executor: "local", acceleratorType: "slot", nodes: 1 }]);
    expect(fleet.accelerators).toEqual({ total: 2, held: 0, free: 2, unavailable: 0 });
    const { sequence, chain } = await first.client.status();
    await first.close();
    const second = await startLive(home);
    expect(await second.client.status()).toMatchObject({ sequence, chain });
    await second.close();
  });

  it("is kept as somebody declared it, and grows when it has grown", async () => {
    const first = await startLive(home);
    const pool = {
      name: poolName("local"),
      site: siteName("local"),
      executor: "local",
      acceleratorType: "slot",
      priceMicroUsdPerHour: 2_100_000,
    } as const;
    await first.client.apply({ pools: [pool] });
    await first.close();
    const second = await startLive(home, { local: { slotCount: 5, accelerators: "declared" } });
    const fleet = await second.client.fleet();
    expect(fleet.pools).toMatchObject([{ priceMicroUsdPerHour: 2_100_000 }]);
    expect(fleet.accelerators.total).toBe(5);
    await second.close();
  });

  it("carries the labels that its pool declares, at once and after a restart", async () => {
    const first = await startLive(home, { local: { nodeName: "n1", slotCount: 2, accelerators: "declared" } });
    const pool = {
      name: poolName("local"),
      site: siteName("local"),
      executor: "local",
      acceleratorType: "slot",
      priceMicroUsdPerHour: 0,
      labels: { zone: "a", rack: "none" },
      nodeLabels: { n1: { rack: "r1" } },
    } as const;
    await first.client.apply({ pools: [pool] });
    const labels = { zone: "a", rack: "r1" };
    await expect.poll(async () => (await first.client.getNode("n1")).labels).toEqual(labels);
    const spec = { kind: "train", name: "picky", run: "true", nodeSelector: { rack: "r1" } } as const;
    const { workloadId } = await first.client.submitWorkload(spec);
    await expect.poll(async () => (await first.client.getWorkload(workloadId)).phase).toBe("succeeded");
    const { sequence } = await first.client.status();
    await first.close();
    const second = await startLive(home, { local: { nodeName: "n1", slotCount: 2, accelerators: "declared" } });
    expect((await second.client.getNode("n1")).labels).toEqual(labels);
    expect((await second.client.status()).sequence).toBe(sequence);
    await second.close();
  });

  it("starts under the policy that was asked for, and under none that does not exist", async () => {
    const first = await startLive(home, { policy: "sjf" });
    expect((await first.client.policy()).name).toBe("sjf");
    await first.close();
    await expect(startLive(home, { policy: "best" })).rejects.toMatchObject({ code: "unknownPolicy" });
    const second = await startLive(home);
    expect((await second.client.policy()).name).toBe("sjf");
    await second.close();
  });
});
