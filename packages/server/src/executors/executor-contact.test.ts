import { nodeId } from "@headroom/model";
import type { Inventory, NodeSignal, NodeSignals } from "@headroom/executors";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FileExecutor } from "../driver/testing/file-executor.ts";
import { unlistedDetail } from "./unlisted-nodes.ts";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";

let home: string;
beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => removeHome(home));

const signal = (code: string, severity: NodeSignal["severity"]): NodeSignal => ({
  nodeId: nodeId("n2"),
  code,
  severity,
  detail: `of ${code}`,
});

/** A source of nodes that lists a second node, leaves it out, or fails. */
class TwoNodeExecutor extends FileExecutor {
  hasSecond = true;
  fails = false;
  inventoryCount = 0;
  signals: readonly NodeSignal[] = [];

  nodeSignals(): NodeSignals {
    return { nodes: new Set([nodeId("n1"), nodeId("n2")]), signals: this.signals };
  }

  override async inventory(): Promise<Inventory> {
    this.inventoryCount++;
    if (this.fails) throw new Error("no answer");
    const { nodes, ...rest } = await super.inventory();
    const second = { ...this.node(), id: nodeId("n2") };
    return { ...rest, nodes: this.hasSecond ? [...nodes, second] : nodes };
  }
}

it.each([
  ["out of service at its cluster: of slurm-drain", [signal("slurm-drain", "warning")]],
  ["out of service at its cluster: of k8s-cordoned", [signal("k8s-cordoned", "info")]],
  ["out of service at its cluster: of k8s-taint-a", [signal("k8s-taint-a", "info")]],
  ["the executor no longer lists it", []],
  ["the executor no longer lists it", [signal("slurm-drain", "warning"), signal("xid-79", "critical")]],
  ["the executor no longer lists it", [signal("slurm-not-responding", "warning")]],
  ["the executor no longer lists it", [{ ...signal("slurm-drain", "warning"), nodeId: nodeId("n1") }]],
] as const)("a node is lost, %s, by its signals %j", (detail, signals) => {
  expect(unlistedDetail(nodeId("n2"), { nodes: new Set(), signals })).toBe(detail);
  expect(unlistedDetail(nodeId("n2"), null)).toBe("the executor no longer lists it");
});

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
    expect((await client.status()).nodes).toEqual({ total: 2, up: 1, lost: 1, draining: 0, inMaintenance: 0 });
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

  it("is lost with the decision of its cluster as the reason", async () => {
    const executor = new TwoNodeExecutor({ directory: home, slots: 1, runMs: 1 });
    const live = await startLive(home, { executors: [executor], inventory: { everyMs: 20, lostAfterMs: 40 } });
    executor.signals = [signal("slurm-drain", "warning")];
    executor.hasSecond = false;
    await expect.poll(async () => (await live.client.getNode("n2")).health).toBe("lost");
    const lost: object[] = [];
    for await (const { event } of live.client.events()) {
      if (event.kind === "nodeLost") lost.push(event);
      if (lost.length > 0) break;
    }
    expect(lost).toMatchObject([{ nodeId: "n2", detail: "out of service at its cluster: of slurm-drain" }]);
    await live.close();
  });

  it("stays while its executor cannot list its nodes", async () => {
    const executor = new TwoNodeExecutor({ directory: home, slots: 1, runMs: 1 });
    const live = await startLive(home, { executors: [executor], inventory: { everyMs: 10, lostAfterMs: 0 } });
    executor.fails = true;
    const before = executor.inventoryCount;
    await expect.poll(() => executor.inventoryCount).toBeGreaterThan(before + 5);
    expect((await live.client.getNode("n2")).health).toBe("up");
    expect(live.complaints[0]).toBe(
      "the executor local is unreachable: no answer. Its attempts and nodes stay as recorded.",
    );
    await live.close();
  });
});

/** A source of nodes that answers only when the test says so, and counts the inventories that wait for an answer. */
class SlowExecutor extends FileExecutor {
  isSlow = false;
  readonly #waiting: (() => void)[] = [];
  mostAtOnce = 0;
  answeredCount = 0;

  override async inventory(): Promise<Inventory> {
    if (this.isSlow) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.mostAtOnce = Math.max(this.mostAtOnce, this.#waiting.push(resolve));
      await promise;
      this.answeredCount++;
    }
    return super.inventory();
  }

  answer(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

describe("an executor that takes longer than the interval of the inventories", () => {
  it("is asked once at a time, and again after each answer", async () => {
    const executor = new SlowExecutor({ directory: home, slots: 1, runMs: 1 });
    const live = await startLive(home, { executors: [executor], inventory: { everyMs: 1, lostAfterMs: 0 } });
    executor.isSlow = true;
    const answered = (): number => {
      executor.answer();
      return executor.answeredCount;
    };
    for (let round = 1; round <= 3; round++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      await expect.poll(answered).toBeGreaterThanOrEqual(round);
    }
    expect(executor.mostAtOnce).toBe(1);
    executor.isSlow = false;
    executor.answer();
    await live.close();
  });
});
