import type { HeadroomClient, WorkloadSummary } from "@headroom/protocol";
import { expect, it } from "vitest";
import { resolveTask } from "./resolve-workload.ts";

function listing(kind: WorkloadSummary["kind"], total: number): HeadroomClient {
  const items = [{ id: "w1", name: "chat", team: "default", kind, endedAtMs: null, tasks: { total } }];
  const listWorkloads = ({ name }: { readonly name?: string }) =>
    Promise.resolve({ items: items.filter((each) => each.name === name) });
  return { listWorkloads } as unknown as HeadroomClient;
}

it("finds a replica whose number is above the number of replicas, since an endpoint may have shrunk", async () => {
  expect(await resolveTask(listing("serve", 1), "default/chat.2")).toMatchObject({ task: 2, workload: { id: "w1" } });
  await expect(resolveTask(listing("batch", 1), "default/chat.2")).rejects.toThrow("there is no task 2");
});
