import { describe, expect, it, vi } from "vitest";
import type { KubernetesPod } from "../api/objects.ts";
import type { PodApi } from "../api/pod-api.ts";
import type { ClusterCopy } from "../cluster-copy.ts";
import { PodActions } from "../executor/pod-actions.ts";
import { kubernetesSettings } from "../settings.ts";
import { PodAdoption } from "./pod-adoption.ts";
import { PodEvents } from "./pod-events.ts";

const podOf = (name: string, uid = `uid-${name}`): KubernetesPod => ({
  metadata: { name, namespace: "ml-vision", uid, labels: { "scheduling.x-k8s.io/pod-group": "train" } },
  spec: { schedulerName: "headroom", containers: [{ name: "main" }] },
  status: { phase: "Pending" },
});

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The cluster as the API server answers, and a copy of it that lists can make wrong. */
function clusterOf(...names: readonly string[]) {
  const server = new Map(names.map((name) => [name, podOf(name)]));
  const copied = new Map(server);
  /** The answer of the API server about the object of the group. */
  const answer = { status: 404, body: null };
  const copy = {
    problem: null,
    podsThatNameUs: () => [...copied.values()],
    typesByResource: () => new Map(),
    pod: (_: string, name: string) => copied.get(name) ?? null,
    putPod: (pod: KubernetesPod) => void copied.set(pod.metadata.name, pod),
  } as unknown as ClusterCopy;
  const api = {
    find: async (_: string, name: string) => server.get(name) ?? null,
    create: async () => ({ kind: "done" }),
    call: async () => answer,
  } as unknown as PodApi;
  const settings = kubernetesSettings.parse({ namespace: "ml-{team}" });
  const adoption = new PodAdoption({ id: "lab", settings, copy, api, holds: () => false, isReady: () => true });
  return { server, copied, adoption, answer };
}

describe("pods of others that wait", () => {
  it("are gone when the API server denies one of them, not when a list lacks them", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const { server, copied, adoption } = clusterOf("a", "b");
      adoption.waiting();
      await settle();
      vi.advanceTimersByTime(3_000);
      const [work] = adoption.waiting() ?? [];
      const key = work?.key ?? "";
      copied.clear();
      expect(adoption.waiting()).toEqual([]);
      expect(await adoption.isGone(key)).toBe(false);
      // The answers repaired the copy.
      expect(adoption.group(key)?.members).toHaveLength(2);
      copied.clear();
      server.set("b", podOf("b", "another"));
      expect(await adoption.isGone(key)).toBe(true);
      expect(await adoption.isGone("lab:never-seen")).toBe(false);
    } finally {
      vi.useRealTimers();
    }
  });

  it("are not gone after a restart, as long as the object of their group cannot be read", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const earlier = clusterOf("a", "b");
      earlier.adoption.waiting();
      await settle();
      vi.advanceTimersByTime(3_000);
      const key = earlier.adoption.waiting()?.[0]?.key ?? "";
      const { adoption, answer } = clusterOf("a", "b");
      answer.status = 503;
      adoption.waiting();
      vi.advanceTimersByTime(700_000);
      expect(adoption.waiting()).toEqual([]);
      expect(await adoption.isGone(key)).toBe(false);
      expect(await adoption.isGone("lab:never-seen")).toBe(true);
      answer.status = 404;
      await settle();
      vi.advanceTimersByTime(60_000);
      adoption.waiting();
      await settle();
      expect(adoption.waiting()?.map((each) => each.key)).toEqual([key]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("are read again only when one of them has changed", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const { copied, adoption } = clusterOf("a", "b");
      adoption.waiting();
      await settle();
      vi.advanceTimersByTime(3_000);
      const [first] = adoption.waiting() ?? [];
      expect(adoption.waiting()?.[0]).toBe(first);
      copied.set("b", { ...podOf("b"), spec: { ...podOf("b").spec, activeDeadlineSeconds: 7 } });
      expect(adoption.waiting()?.[0]).not.toBe(first);
      copied.set("c", podOf("c"));
      adoption.waiting();
      vi.advanceTimersByTime(3_000);
      expect(adoption.waiting()?.[0]?.spec.gang.workers).toBe(3);
    } finally {
      vi.useRealTimers();
    }
  });

  it("are bound by their uid, so that no other pod of the name is", async () => {
    const bound: unknown[] = [];
    const bind = async (...asked: unknown[]) => {
      bound.push(asked);
      return { kind: "conflict", detail: "another uid" };
    };
    const actions = new PodActions({ bind, find: async () => podOf("a", "another") } as unknown as PodApi);
    const pods = [{ name: "a", uid: "uid-a", container: "main" }];
    const place = { version: 2, namespace: "ml-vision", base: "hr-x", pods } as const;
    expect(await actions.bind({ ...place, pods: [...pods] }, [0], ["n1"])).toMatchObject({ kind: "impossible" });
    expect(bound).toEqual([["ml-vision", "a", "n1", "uid-a"]]);
  });
});

it("tells no sentence again and again when there are more groups than it remembers", async () => {
  let count = 0;
  const create = async () => ({ kind: "done", count: (count += 1) });
  const events = new PodEvents({ create } as unknown as PodApi);
  const tellAll = async (): Promise<void> => {
    for (let group = 0; group < 10_500; group++) {
      events.tell(`g${group}`, [podOf("a")], { kind: "refused", message: "no team" });
      if (group % 400 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await new Promise((resolve) => setImmediate(resolve));
  };
  await tellAll();
  const first = count;
  expect(first).toBeGreaterThan(0);
  await tellAll();
  expect(count).toBe(first);
});
