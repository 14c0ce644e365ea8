import { poolName, siteName } from "@headroom/model";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "./api/testing/live-control-plane.ts";

let home: string;
beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => removeHome(home));

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

  it("has its place in the fabric from labels named after the levels of its site, also while it runs work", async () => {
    const live = await startLive(home, { local: { nodeName: "n1", slotCount: 2, accelerators: "declared" } });
    const { workloadId } = await live.client.submitWorkload({ kind: "train", name: "busy", run: "sleep 600" });
    await expect.poll(async () => (await live.client.getWorkload(workloadId)).phase).toBe("running");
    const wanted = { kind: "train", name: "near", run: "true", fabric: { within: "leaf" } } as const;
    await expect(live.client.submitWorkload(wanted)).rejects.toThrow("no site has the level leaf");
    const sites = [{ name: siteName("local"), fabricLevels: ["spine", "leaf"] }];
    await live.client.apply({ sites });
    await expect(live.client.submitWorkload(wanted)).rejects.toThrow("no node of the fleet states its leaf");
    const pool = {
      name: poolName("local"),
      site: siteName("local"),
      executor: "local",
      acceleratorType: "slot",
      priceMicroUsdPerHour: 0,
      labels: { spine: "s1" },
      nodeLabels: { n1: { leaf: "l7", feed: "a" } },
    } as const;
    await live.client.apply({ pools: [pool] });
    await expect.poll(async () => (await live.client.getNode("n1")).fabric).toEqual(["s1", "l7"]);
    expect((await live.client.getWorkload(workloadId)).phase).toBe("running");
    const near = await live.client.submitWorkload(wanted);
    await expect.poll(async () => (await live.client.getWorkload(near.workloadId)).phase).toBe("succeeded");
    await live.client.stopWorkload(workloadId);
    await live.close();
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
