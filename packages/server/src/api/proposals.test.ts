/** Proposals over HTTP: simulated on creation, decided by another user with a role on the team above. */
import { createHttpClient } from "@headroom/protocol";
import type { HeadroomClient, Role } from "@headroom/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "./testing/live-control-plane.ts";
import type { LiveControlPlane } from "./testing/live-control-plane.ts";

let live: LiveControlPlane;
let ann: HeadroomClient;
let lead: HeadroomClient;

async function clientOf(user: string, team: string | null, role: Role): Promise<HeadroomClient> {
  const { secret } = await live.client.createToken({ name: `${user}-${role}`, user, team, role });
  return createHttpClient({
    baseUrl: live.url,
    token: secret,
    fetch: (target, request) => fetch(target, request as RequestInit),
    newIdempotencyKey: () => crypto.randomUUID(),
  });
}

beforeAll(async () => {
  live = await startLive(temporaryHome());
  const tree = ["lab", "lab/nlp", "other"].map((name) => ({
    name,
    parent: name === "lab/nlp" ? "lab" : null,
    limit: name === "lab/nlp" ? { accelerators: 1 } : {},
  }));
  await live.client.apply({ teams: tree });
  ann = await clientOf("ann", "lab/nlp", "member");
  lead = await clientOf("lead", "lab", "operator");
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

const larger = (amount: number) => ({ kind: "quota", team: "lab/nlp", limit: { accelerators: amount } }) as const;

describe("proposals over HTTP", () => {
  it("are simulated on creation, approved by the team above, made and scored", async () => {
    const { workloadId } = await live.client.submitWorkload({
      kind: "train",
      name: "wide",
      team: "lab/nlp",
      run: "sleep 60",
      gang: { accelerators: 2 },
    });
    const asked = { change: larger(2), reason: "two devices", ground: [{ measure: "devices", value: 2, unit: "" }] };
    const proposal = await ann.createProposal({ ...asked, agent: "planner 1.0" });
    expect(proposal).toMatchObject({ phase: "simulated", team: "lab/nlp", actor: "ann", agent: "planner 1.0" });
    expect(proposal.effect).toMatchObject({
      earlierCount: 1,
      teams: [{ team: "lab/nlp", earlierCount: 1, laterCount: 0 }],
      starts: [{ workloadId, presentAtMs: null }],
    });
    expect(proposal.effectSentence).toMatch(/1 waiting workload would start earlier and 0 later/);
    const { id } = proposal;
    await expect(ann.decideProposal(id, { verdict: "approve" })).rejects.toMatchObject({ code: "permissionDenied" });
    await expect(ann.createProposal(asked)).rejects.toMatchObject({ code: "proposalExists" });
    expect((await lead.listProposals()).items.map((each) => each.id)).toEqual([id]);
    const made = await lead.decideProposal(id, { verdict: "approve", reason: "fine" });
    expect(made.phase).toBe("scored");
    expect(made.score).toMatchObject({ expectedCount: 1, startedCount: 1 });
    expect(made.steps.map(({ phase, actor }) => [phase, actor])).toEqual([
      ["advised", "ann"],
      ["simulated", null],
      ["approved", "lead"],
      ["acted", null],
      ["scored", null],
    ]);
    const { items: teams } = await live.client.teams();
    expect(teams.find(({ name }) => name === "lab/nlp")?.limit).toEqual({ accelerators: 2 });
    expect((await live.client.getWorkload(workloadId)).phase).not.toBe("pending");
    await live.client.stopWorkload(workloadId);
  });

  it("are seen and made only by roles on their team; the whole fleet's need a role on all of it", async () => {
    const outsider = await clientOf("olga", "other", "operator");
    const { id } = await ann.createProposal({ change: larger(3), reason: "more" });
    await expect(outsider.getProposal(id)).rejects.toMatchObject({ code: "unknownProposal" });
    expect((await outsider.listProposals()).items).toEqual([]);
    // Cursors of a hidden and of an absent proposal get the same answer.
    expect(await outsider.listProposals({ cursor: id })).toEqual(await outsider.listProposals({ cursor: "p999999" }));
    await expect(outsider.listProposals({ cursor: "x1" })).rejects.toMatchObject({ code: "invalidCursor" });
    await expect(outsider.createProposal({ change: larger(9), reason: "x" })).rejects.toMatchObject({
      code: "unknownTeam",
    });
    const [node] = (await live.client.listNodes()).items;
    const drain = { change: { kind: "drain", nodeId: node?.id ?? "" } as const, reason: "hot" };
    await expect(lead.createProposal(drain)).rejects.toMatchObject({ code: "permissionDenied" });
    await ann.withdrawProposal(id, {});
    expect((await ann.getProposal(id)).phase).toBe("withdrawn");
    const own = await live.client.createProposal(drain);
    expect(own.effect).toMatchObject({ interruptedCount: 0 });
    await expect(live.client.decideProposal(own.id, { verdict: "approve" })).rejects.toMatchObject({
      code: "ownProposal",
    });
    await expect(lead.setProposalRule("drain", { mode: "automatic" })).rejects.toMatchObject({
      code: "permissionDenied",
    });
    expect(await live.client.setProposalRule("drain", { mode: "automatic" })).toMatchObject({ perHourMax: 4 });
    const { items } = await live.client.listProposals({ all: true });
    expect(items.at(-1)).toMatchObject({ id: own.id, phase: "acted" });
    await live.client.resumeNode(node?.id ?? "");
  });

  it("beyond the grant of the approver need a role on the whole control plane", async () => {
    const change = { kind: "quota", team: "lab/nlp", guarantee: { accelerators: 2 } } as const;
    const { id } = await ann.createProposal({ change, reason: "guaranteed" });
    await expect(lead.decideProposal(id, { verdict: "approve" })).rejects.toMatchObject({ code: "permissionDenied" });
    await live.client.decideProposal(id, { verdict: "reject" });
  });
});
