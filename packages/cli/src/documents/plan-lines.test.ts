import type { ApplyPlan, ApplyRequest, HeadroomClient } from "@headroom/protocol";
import { expect, it } from "vitest";
import { planLines } from "./plan-lines.ts";

const request = { sites: [], pools: [], teams: [], workloads: [] } as unknown as ApplyRequest;
/** Only changed documents are compared with those of the control plane. */
const client = {} as HeadroomClient;

const created = (name: string, ...messages: string[]): ApplyPlan["changes"][number] => ({
  kind: "workload",
  name,
  action: "created",
  workloadId: null,
  notices: messages.map((message) => ({ kind: "reclaimable", message })),
});

it("shows an equal note once, with the number of further documents", async () => {
  const changes = [created("a", "It may be reclaimed."), created("b", "It may be reclaimed.", "Other."), created("c")];
  const lines = await planLines(client, request, { changes } as ApplyPlan, (_, text) => text);
  expect(lines).toEqual([
    "+ workload a",
    "    note: It may be reclaimed. (the same for 1 further document)",
    "+ workload b",
    "    note: Other.",
    "+ workload c",
    "3 to create, 0 to change, 0 unchanged",
  ]);
});
