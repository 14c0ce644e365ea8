/** Findings of a real control plane: they become simulated proposals, and change no more than the budget of change allows. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";

let live: LiveControlPlane;
beforeEach(async () => {
  live = await startLive(temporaryHome(), {
    local: { nodeName: "n", nodeCount: 6, slotCount: 1, accelerators: "declared" },
  });
});
afterEach(async () => {
  await live.close();
  removeHome(live.home);
});

/** The first simulation starts a thread, which takes long on a busy machine. */
const WAIT_MS = 90_000;
const fault = { code: "xid-79", severity: "critical", device: "0000:3b:00", detail: "fell off the bus" } as const;

describe("findings", () => {
  it("become simulated proposals, automatic ones within the budget, and end with the node's return", async () => {
    const { client } = live;
    const nodes = (await client.listNodes()).items.map(({ id }) => id);
    expect(nodes).toHaveLength(6);
    for (const id of nodes) await client.reportFaults(id, { faults: [{ ...fault }] });
    const proposed = async () => (await client.listProposals()).items.filter(({ phase }) => phase === "simulated");
    await expect.poll(async () => (await proposed()).length, { timeout: WAIT_MS }).toBe(6);
    const findings = (await client.listFindings()).items;
    expect(findings).toHaveLength(6);
    expect(findings[0]).toMatchObject({ kind: "fault", change: { kind: "drain" }, proposal: { phase: "simulated" } });
    expect((await proposed())[0]).toMatchObject({ actor: "headroom", agent: "health" });

    // Rejected once, a finding is not proposed again.
    const [first] = await proposed();
    await client.decideProposal(first?.id ?? "", { verdict: "reject" });
    await client.setProposalRule("drain", { mode: "automatic", perHourMax: 2, poolPercentPerHourMax: 100 });
    const draining = async () => (await client.listNodes()).items.filter((node) => node.draining);
    await expect.poll(async () => (await draining()).length, { timeout: WAIT_MS }).toBe(2);
    await expect.poll(async () => (await client.listFindings()).items.length, { timeout: WAIT_MS }).toBe(4);
    expect(await draining()).toHaveLength(2);
    expect((await client.listProposals()).items.filter(({ id }) => id === first?.id)).toEqual([]);

    // A resumed node, and a resolved incident, end the finding, and its proposal is withdrawn.
    for (const incident of (await client.listIncidents()).items)
      await client.annotateIncident(incident.id, { kind: "resolve" });
    await expect.poll(async () => (await client.listFindings()).items, { timeout: WAIT_MS }).toEqual([]);
    await expect.poll(async () => (await proposed()).length, { timeout: WAIT_MS }).toBe(0);
    expect(await draining()).toHaveLength(2);

    // A cap below the present draw takes no work away.
    const [site] = (await client.fleet()).sites;
    const pool = (await client.fleet()).pools[0];
    if (site === undefined || pool === undefined) throw new Error("the fleet has no pool");
    const { name, executor, acceleratorType, priceMicroUsdPerHour } = pool;
    await client.apply({
      sites: [{ ...site, caps: [{ of: "power", level: "site", watts: 1_000 }] }],
      pools: [{ name, site: site.name, executor, acceleratorType, priceMicroUsdPerHour, power: { nodeWatts: 500 } }],
      teams: [],
      workloads: [],
    });
    expect((await client.fleet()).caps).toMatchObject([{ path: [site.name], capWatts: 1_000, drawWatts: 3_000 }]);
    expect(live.complaints).toEqual([]);
  }, 300_000);
});
