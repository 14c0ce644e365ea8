/** Conclusions about a binding that the server refused as a conflict: its answer about the pod may be wrong. */
import { expect, it } from "vitest";
import type { KubernetesPod } from "../api/objects.ts";
import type { PodApi } from "../api/pod-api.ts";
import { PodActions } from "./pod-actions.ts";

const place = { version: 1, namespace: "default", base: "g" } as const;

/** The outcome after a conflict, when the server then says this about the pod. */
async function bindingAfter(found: KubernetesPod | null): Promise<string> {
  const answers: Pick<PodApi, "bind" | "find"> = {
    bind: () => Promise.resolve({ kind: "conflict", detail: "409 already assigned" }),
    find: () => Promise.resolve(found),
  };
  const { kind } = await new PodActions(answers as PodApi).bind(place, [0], ["n1"]);
  return kind;
}

const pod = (nodeName: string | undefined, deletionTimestamp?: string): KubernetesPod => ({
  metadata: { name: "g-0", ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) },
  spec: nodeName === undefined ? {} : { nodeName },
});

it("is bound if the pod is on its node: an earlier binding took effect, and its answer was lost", async () => {
  expect(await bindingAfter(pod("n1"))).toBe("bound");
});

it("is impossible if the pod is elsewhere, or being deleted", async () => {
  expect(await bindingAfter(pod("n2"))).toBe("impossible");
  expect(await bindingAfter(pod(undefined, "2026-11-30T00:00:00Z"))).toBe("impossible");
});

it("is unknown if the answer contradicts the conflict", async () => {
  expect(await bindingAfter(pod(undefined))).toBe("unknown");
  expect(await bindingAfter(null)).toBe("unknown");
});
