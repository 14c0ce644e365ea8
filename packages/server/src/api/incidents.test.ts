import { writeFileSync } from "node:fs";
import path from "node:path";
import { nodeId } from "@headroom/model";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ControlPlane } from "./control-plane.ts";
import { linkMap } from "./incidents.ts";
import { removeHome, startLive, temporaryHome } from "./testing/live-control-plane.ts";

let home: string;
beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => removeHome(home));

describe("incidents over HTTP", () => {
  it("come from reported faults, keep what people record, and stay after a restart", async () => {
    const first = await startLive(home, { local: { nodeName: "n1", slotCount: 2, accelerators: "declared" } });
    const { client } = first;
    expect((await client.listIncidents()).items).toEqual([]);
    const faults = [
      { code: "xid-79", severity: "critical", device: "0000:3b:00", detail: "fell off the bus" },
    ] as const;
    await expect(client.reportFaults("n9", { faults: [...faults] })).rejects.toMatchObject({ code: "unknownNode" });
    await client.reportFaults("n1", { faults: [...faults] });
    await expect.poll(async () => (await client.listIncidents()).items.length).toBe(1);
    const [incident] = (await client.listIncidents()).items;
    const id = incident?.id ?? "";
    expect(incident).toMatchObject({ phase: "open", cause: "faults", codes: ["xid-79"], domain: { level: "node" } });
    expect(incident?.runbooks).toBeUndefined();
    writeFileSync(path.join(home, "runbooks.yaml"), 'kind: runbook\nfor: ["xid-*"]\ntext: Reseat the card.\n');
    const runbooks = [{ for: "xid-79", text: "Reseat the card.", url: null }];
    expect((await client.getIncident(id)).runbooks).toEqual(runbooks);
    await expect
      .poll(async () => (await client.listFindings()).items[0]?.runbooks, { timeout: 20_000 })
      .toEqual(runbooks);
    await client.annotateIncident(id, { kind: "acknowledge" });
    await client.annotateIncident(id, { kind: "silence", forMs: 3_600_000 });
    const noted = await client.annotateIncident(id, { kind: "note", text: "replaced" });
    expect(noted.timeline.at(-1)?.text).toBe("replaced");
    expect(noted.acknowledgedBy).not.toBeNull();
    expect(await client.fleetHealth()).toMatchObject({
      nodes: { total: 1, inService: 1 },
      incidents: { open: 1, unacknowledged: 0 },
      faulty: [{ nodeId: nodeId("n1"), codes: ["xid-79"] }],
    });
    expect(await client.linkMap()).toMatchObject({
      pairs: 0,
      nodes: { total: 1, measured: 0 },
      items: [{ kind: "nic", verdict: "notMeasured", nodes: ["n1"], detail: "no suite has run" }],
    });
    await expect(client.annotateIncident("i999999", { kind: "resolve" })).rejects.toMatchObject({
      code: "unknownIncident",
    });
    await first.close();
    const second = await startLive(home, { local: { nodeName: "n1", slotCount: 2, accelerators: "declared" } });
    const again = await second.client.getIncident(id);
    expect(again.timeline).toEqual(noted.timeline);
    expect((await second.client.annotateIncident(id, { kind: "resolve" })).phase).toBe("resolved");
    await second.close();
  });
});

it("shares one link map among requests that come together, and keeps none that failed", async () => {
  let reads = 0;
  const read = (): Promise<never[]> =>
    ++reads === 1 ? Promise.reject(new Error("the journal is closed")) : Promise.resolve([]);
  const plane = { driver: { read } } as unknown as ControlPlane;
  await expect(linkMap(plane)).rejects.toThrow("the journal is closed");
  const [first, second] = await Promise.all([linkMap(plane), linkMap(plane)]);
  expect(second).toBe(first);
  expect(reads).toBe(2);
});
