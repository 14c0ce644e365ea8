import { describe, expect, it } from "vitest";
import type { Chosen, Decision, Router, RouterOptions, RoutingRequest } from "./contract.ts";
import { seededDraw } from "./draw.ts";
import { hashText, PrefixHasher } from "./prefix-hash.ts";
import { createRouter } from "./router.ts";

function routerOf(policy: RouterOptions["policy"], replicas: number, options: Partial<RouterOptions> = {}): Router {
  const router = createRouter({ policy, draw: seededDraw(1), ...options });
  for (let index = 0; index < replicas; index += 1) router.addReplica({ id: `r${index}` });
  return router;
}

function chosen(decision: Decision): Chosen {
  if (decision.kind !== "chosen") throw new Error(`unavailable: ${JSON.stringify(decision)}`);
  return decision;
}

function send(router: Router, request: RoutingRequest, nowMs = 0) {
  const decision = chosen(router.choose(request, nowMs));
  return { decision, ticket: router.start(decision, request, nowMs) };
}

function prefixOf(text: string): PrefixHasher {
  const hasher = new PrefixHasher();
  hasher.begin(0);
  hasher.update(new TextEncoder().encode(text));
  return hasher;
}

describe("health", () => {
  it("sends nothing to a replica that drains, starts or is unhealthy, and says why none is left", () => {
    const router = routerOf("least-work", 3);
    router.setHealth("r0", "draining");
    router.setHealth("r1", "unhealthy");
    for (let index = 0; index < 20; index += 1) {
      expect(send(router, { promptTokens: 100 }).decision.replicaId).toBe("r2");
    }
    const decision = router.choose({ promptTokens: 100, excluded: ["r2"] }, 0);
    expect(decision).toEqual({
      kind: "unavailable",
      replicaCount: 3,
      excluded: { starting: 0, draining: 1, unhealthy: 1, region: 0, alreadyTried: 1, others: 0 },
    });
  });

  it("keeps tickets of a removed replica harmless and its slot usable", () => {
    const router = routerOf("least-requests", 2);
    const sent = [0, 1, 2, 3].map(() => send(router, { promptTokens: 10 }));
    router.removeReplica("r0");
    router.addReplica({ id: "r9" });
    for (const { ticket } of sent) {
      router.tokens(ticket, 3, 10);
      router.end(ticket, "completed", 20);
      router.end(ticket, "completed", 30);
    }
    for (const report of router.explain({ promptTokens: 10 }, 40)) {
      expect(report).toMatchObject({ runningRequests: 0, waitingRequests: 0, pendingPrefillTokens: 0 });
      expect(report.residentTokens).toBe(0);
      expect(report.workMs).toBe(0);
    }
  });
});

describe("load", () => {
  it.each(["round-robin", "least-requests", "least-work"] as const)("%s spreads equal requests evenly", (policy) => {
    const router = routerOf(policy, 7);
    const counts = new Map<string, number>();
    for (let index = 0; index < 70; index += 1) {
      const { replicaId } = send(router, { promptTokens: 100, expectedOutputTokens: 100 }).decision;
      counts.set(replicaId, (counts.get(replicaId) ?? 0) + 1);
    }
    expect([...counts.values()]).toEqual([10, 10, 10, 10, 10, 10, 10]);
  });

  it("power-of-two leaves a far smaller maximum than a random choice would", () => {
    const router = routerOf("power-of-two", 50);
    const counts = new Map<string, number>();
    for (let index = 0; index < 5000; index += 1) {
      const { replicaId } = send(router, { promptTokens: 100 }).decision;
      counts.set(replicaId, (counts.get(replicaId) ?? 0) + 1);
    }
    // The mean is 100. With a random choice the maximum would be about 125.
    expect(Math.max(...counts.values())).toBeLessThan(106);
  });

  it("counts requests that other routers sent, from the replica's metrics", () => {
    const router = routerOf("least-requests", 2);
    router.observe("r0", { runningRequests: 5, waitingRequests: 2 }, 0);
    for (let index = 0; index < 7; index += 1) expect(send(router, { promptTokens: 1 }).decision.replicaId).toBe("r1");
    router.observe("r0", { runningRequests: 0, waitingRequests: 0 }, 1);
    expect(send(router, { promptTokens: 1 }).decision.replicaId).toBe("r0");
  });
});

describe("sessions", () => {
  const sessions = Array.from({ length: 20_000 }, (_, index) => hashText(`user-${index}`));
  const place = (router: Router): string[] =>
    sessions.map((sessionHash) => chosen(router.choose({ promptTokens: 10, sessionHash }, 0)).replicaId);

  it.each([2, 5, 20, 100])("move by 1/N when one of %d replicas goes or comes, in every process alike", (count) => {
    const router = routerOf("session", count);
    const before = place(router);
    const reversed = createRouter({ policy: "session", draw: seededDraw(99) });
    for (let index = count - 1; index >= 0; index -= 1) reversed.addReplica({ id: `r${index}` });
    expect(place(reversed)).toEqual(before);

    router.removeReplica("r1");
    const without = place(router);
    const moved = before.filter((id, index) => id !== without[index]);
    expect(new Set(moved)).toEqual(new Set(["r1"]));
    expect(moved.length / sessions.length).toBeLessThan(1.15 / count);

    router.addReplica({ id: "r1" });
    expect(place(router)).toEqual(before);
    router.addReplica({ id: "new" });
    const joined = place(router).filter((id, index) => id !== before[index]);
    expect(new Set(joined)).toEqual(new Set(["new"]));
    expect(joined.length / sessions.length).toBeLessThan(1.15 / (count + 1));
  });

  it("follow the replicas' weights", () => {
    const router = createRouter({ policy: "session", draw: seededDraw(1) });
    router.addReplica({ id: "small" });
    router.addReplica({ id: "large", weight: 3 });
    const share = place(router).filter((id) => id === "large").length / sessions.length;
    expect(share).toBeGreaterThan(0.73);
    expect(share).toBeLessThan(0.77);
  });

  it("pass over a replica beyond the load bound", () => {
    const router = routerOf("session", 10, { loadBound: 1.25 });
    const sessionHash = hashText("one busy session");
    const counts = new Map<string, number>();
    for (let index = 0; index < 1000; index += 1) {
      const { replicaId } = send(router, { promptTokens: 10, sessionHash }).decision;
      counts.set(replicaId, (counts.get(replicaId) ?? 0) + 1);
    }
    expect(Math.max(...counts.values())).toBeLessThanOrEqual(126);
  });
});

describe("prefixes", () => {
  it("follow the conversation to the replica that holds it", () => {
    const router = routerOf("prefix", 8);
    const first = "a long conversation ".repeat(200);
    const { decision, ticket } = send(router, { promptTokens: 1000, prefix: prefixOf(first) });
    router.tokens(ticket, 10, 100);
    router.end(ticket, "completed", 200);
    const next = send(
      router,
      { promptTokens: 1500, prefix: prefixOf(`${first}${"and more ".repeat(200)}`) },
      300,
    ).decision;
    expect(next).toMatchObject({ replicaId: decision.replicaId, ground: "prefix" });
    expect(next.cachedTokens).toBeGreaterThan(700);
    router.forgetCache(decision.replicaId);
    expect(chosen(router.choose({ promptTokens: 1500, prefix: prefixOf(first) }, 400)).cachedTokens).toBe(0);
  });
});

describe("adapters", () => {
  it("stay where they are loaded, and go to a free slot before one is evicted", () => {
    const router = createRouter({ policy: "least-work", draw: seededDraw(3) });
    for (let index = 0; index < 4; index += 1) router.addReplica({ id: `r${index}`, limits: { maxAdapters: 2 } });
    const homes = new Map<string, Set<string>>();
    for (let index = 0; index < 400; index += 1) {
      const adapter = `lora-${index % 8}`;
      const { decision, ticket } = send(router, { promptTokens: 100, adapter }, index * 100);
      router.tokens(ticket, 5, index * 100 + 50);
      router.end(ticket, "completed", index * 100 + 60);
      homes.set(adapter, (homes.get(adapter) ?? new Set()).add(decision.replicaId));
    }
    expect([...homes.values()].map((set) => set.size)).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);
  });

  it.each(["least-work", "prefix", "predicted-latency"] as const)(
    "go to a replica with a free slot rather than to an idle one that reports its maximum (%s)",
    (policy) => {
      const router = routerOf(policy, 3);
      router.observe("r0", { adapters: ["a", "b"], maxAdapters: 2 }, 0);
      router.observe("r1", { adapters: ["c", "d"], maxAdapters: 2 }, 0);
      router.observe("r2", { adapters: ["a"], maxAdapters: 2, runningRequests: 3, waitingRequests: 0 }, 0);
      for (let index = 0; index < 8; index += 1) {
        const decision = chosen(router.choose({ promptTokens: 100, adapter: "new" }, 10));
        expect(decision.replicaId).toBe("r2");
      }
      // A replica that has the adapter takes it, whether or not a slot is free.
      expect(chosen(router.choose({ promptTokens: 100, adapter: "d" }, 10)).replicaId).toBe("r1");
      router.setHealth("r2", "unhealthy");
      expect(chosen(router.choose({ promptTokens: 100, adapter: "new" }, 10)).replicaId).not.toBe("r2");
    },
  );
});

describe("the reported size of the KV cache", () => {
  const text = "the same long system prompt again and again. ".repeat(400);

  it("bounds the prefixes that a replica counts as cached, unless its specification states the size", () => {
    const router = createRouter({ policy: "prefix", draw: seededDraw(1) });
    router.addReplica({ id: "r0" });
    router.addReplica({ id: "fixed", limits: { kvCapacityTokens: 400_000 } });
    router.setHealth("fixed", "draining");
    const request = { promptTokens: 4000, prefix: prefixOf(text) };
    send(router, request);
    expect(chosen(router.choose(request, 1)).cachedTokens).toBeGreaterThan(3000);
    router.observe("r0", { kvCapacityTokens: 1024 }, 2);
    expect(chosen(router.choose(request, 3)).cachedTokens).toBeLessThanOrEqual(1024);
    router.setHealth("r0", "draining");
    router.setHealth("fixed", "ready");
    send(router, request, 4);
    router.observe("fixed", { kvCapacityTokens: 1024 }, 5);
    expect(chosen(router.choose(request, 6)).cachedTokens).toBeGreaterThan(3000);
  });
});

describe("a request whose state one replica holds", () => {
  it("goes only there", () => {
    const router = routerOf("least-work", 4);
    for (let index = 0; index < 20; index += 1) {
      expect(send(router, { promptTokens: 10, only: "r2" }).decision.replicaId).toBe("r2");
    }
    expect(router.choose({ promptTokens: 10, only: "r2", excluded: ["r2"] }, 0)).toMatchObject({
      excluded: { alreadyTried: 1, others: 3 },
    });
  });
});

describe("zones and regions", () => {
  const withZones = (policy: RouterOptions["policy"]): Router => {
    const router = createRouter({ policy, draw: seededDraw(5) });
    for (const zone of ["a1", "a2", "b1"]) {
      for (let index = 0; index < 2; index += 1) {
        router.addReplica({ id: `${zone}-${index}`, zone, region: zone.slice(0, 1) });
      }
    }
    return router;
  };

  it("keep clients in their zone, and let them spill when it is overloaded", () => {
    const router = withZones("least-work");
    const near = send(router, { promptTokens: 10, zone: "a1", region: "a" }).decision.replicaId;
    expect(near.startsWith("a1")).toBe(true);
    const zones = Array.from(
      { length: 60 },
      () => send(router, { promptTokens: 10, zone: "a1", region: "a" }).decision.replicaId,
    );
    expect(zones.some((id) => id.startsWith("a2"))).toBe(true);
    expect(zones.filter((id) => id.startsWith("a1")).length).toBeGreaterThan(20);
  });

  it("are a hard constraint where data must stay", () => {
    const router = withZones("predicted-latency");
    for (let index = 0; index < 100; index += 1) {
      expect(send(router, { promptTokens: 10, region: "a", allowedRegions: ["b"] }).decision.replicaId).toMatch(/^b1/);
    }
    expect(router.choose({ promptTokens: 1, allowedRegions: ["c"] }, 0)).toMatchObject({ excluded: { region: 6 } });
  });
});
