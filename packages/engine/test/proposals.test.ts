/** Proposals from the advice to the score, and budgets of change against many proposals. */
import {
  HOUR_MS,
  CONTROL_PLANE_ACTOR,
  OPEN_PROPOSALS_OF_CONTROL_PLANE_MAX,
  OPEN_PROPOSALS_OF_USERS_MAX,
  OPEN_PROPOSALS_OF_USER_MAX,
  artifactKey,
  nodeId,
  teamName,
  usualProposalRules,
  workloadId,
} from "@headroom/model";
import type { ArtifactChange, Command, Proposal, ProposalRule, ProposedChange, SimulatedStart } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site, spec, team } from "./lab/make.ts";
import { simulated } from "./lab/proposals.ts";

const create = (change: ProposedChange, actor = "ann"): Command => ({
  ...command({ kind: "createProposal", change, reason: "because", ground: [] }),
  actor,
});
const decide = (id: string, verdict: "approve" | "reject" | "withdraw", actor = "lead"): Command => ({
  ...command({ kind: "decideProposal", id, verdict, reason: "" }),
  actor,
});
const setRule = (rule: ProposalRule): Command => command({ kind: "setProposalRule", rule });
const drain = (id: string): ProposedChange => ({ kind: "drain", nodeId: nodeId(id), running: "wait" });
const raised: ProposedChange = { kind: "quota", team: teamName("lab"), limit: { H100: 8 } };

function fleet(nodeCount: number): Drive {
  const drive = new Drive();
  const nodes = Array.from({ length: nodeCount }, (_, index) => node(`n${index}`, "H100"));
  drive.receive(
    applied({ sites: [site], pools: [pool("H100")], teams: [team("lab", null, { H100: 4 })] }),
    ...nodes.map((each) => ({ kind: "nodeSeen", node: each }) as const),
  );
  return drive;
}

/** Proposes and simulates; returns the id. */
function propose(drive: Drive, change: ProposedChange, starts: readonly SimulatedStart[] = [], actor = "ann"): string {
  drive.receive(create(change, actor));
  const id = [...drive.engine.state.proposals.keys()].at(-1) ?? "";
  drive.receive(simulated(id, drive.nowMs, starts));
  return id;
}

const get = ({ engine }: Drive, id: string): Proposal => engine.state.proposals.get(id) as Proposal;
const draining = ({ engine }: Drive): readonly string[] =>
  [...engine.state.nodes.values()].flatMap((each) => (each.draining ? [each.id] : []));

describe("a proposal", () => {
  it("of advice is about the team that the control plane names, and no other kind is", () => {
    const drive = fleet(1);
    const propose = (change: ProposedChange) => drive.receive({ ...create(change), team: teamName("lab") } as Command);
    propose({ kind: "advice", about: "checkpoints of llm (w1)", text: "set checkpoint.every to 30m" });
    propose(drain("n0"));
    expect([...drive.engine.state.proposals.values()].map((each) => each.team)).toEqual(["lab", null]);
  });

  it("is simulated, approved by another user, made in the same round, and scored when its starts took place", () => {
    const drive = fleet(1);
    drive.nowMs = 1_000;
    const submission = spec("large", { team: "lab", gang: { accelerators: 8 }, acceleratorTypes: ["H100"] });
    drive.receive(command({ kind: "submitWorkload", spec: submission }));
    const [workload] = [...drive.engine.state.workloads.values()];
    const start = { workloadId: workload?.id ?? workloadId(""), presentAtMs: null, changedAtMs: 3_000 };
    const id = propose(drive, raised, [start]);
    expect(get(drive, id)).toMatchObject({ phase: "simulated", team: "lab", actor: "ann" });
    drive.nowMs = 5_000;
    const { events } = drive.receive(decide(id, "approve"));
    expect(events.map(({ kind }) => kind)).toEqual([
      "proposalApproved",
      "teamDefined",
      "proposalActed",
      "gangPlaced",
      "proposalScored",
    ]);
    expect(events[1]).toMatchObject({ actor: "lead", team: { limit: { H100: 8 } } });
    const score = { atMs: 5_000, expectedCount: 1, startedCount: 1, meanErrorMs: 2_000 };
    expect(get(drive, id)).toMatchObject({ phase: "scored", score });
    const before = drive.engine.digest();
    drive.restart();
    expect(drive.engine.digest()).toBe(before);
  });

  it("is not approved by its proposer, without a simulation, twice, or where its kind only advises", () => {
    const drive = fleet(2);
    const rejection = (input: Command): unknown => drive.receive(input).replies[0];
    drive.receive(create(raised));
    const id = [...drive.engine.state.proposals.keys()][0] ?? "";
    expect(rejection(decide(id, "approve"))).toMatchObject({ rejection: { code: "proposalNotSimulated" } });
    expect(rejection(create(raised, "bob"))).toMatchObject({ rejection: { code: "proposalExists", id } });
    drive.receive(simulated(id, 0));
    expect(rejection(decide(id, "approve", "ann"))).toMatchObject({ rejection: { code: "ownProposal" } });
    expect(rejection(decide(id, "withdraw"))).toMatchObject({ rejection: { code: "othersProposal", actor: "ann" } });
    drive.receive(setRule({ ...usualProposalRules.quota, mode: "advise" }));
    expect(rejection(decide(id, "approve"))).toMatchObject({ rejection: { code: "proposalOnlyAdvises" } });
    drive.receive(setRule({ ...usualProposalRules.quota, ownApproval: true }));
    expect(rejection(decide(id, "approve", "ann"))).toMatchObject({ kind: "accepted" });
    expect(rejection(decide(id, "reject"))).toMatchObject({ rejection: { code: "proposalDecided", phase: "acted" } });
    const unknown = { kind: "quota", team: teamName("none"), weight: 2 } as const;
    expect(rejection(create(unknown))).toMatchObject({ rejection: { code: "unknownTeam" } });
    expect(rejection(create(drain("gone")))).toMatchObject({ rejection: { code: "unknownNode" } });
  });

  it("expires, and fails if its change is refused in the end", () => {
    const drive = fleet(3);
    const expiring = propose(drive, raised);
    const failing = propose(drive, drain("n1"));
    drive.receive(decide(failing, "approve"), { kind: "noRound" });
    expect(get(drive, failing).phase).toBe("approved");
    drive.receive(command({ kind: "removeNode", nodeId: nodeId("n1"), running: "refuse" }));
    expect(get(drive, failing)).toMatchObject({ phase: "failed", steps: [{}, {}, {}, { reason: "unknownNode" }] });
    drive.passTo(usualProposalRules.quota.expiresAfterMs + 1);
    expect(get(drive, expiring).phase).toBe("expired");
  });

  it("is bounded in number for each user, and states without proposals have the older format", () => {
    const drive = fleet(1);
    const formatOf = (): number =>
      (JSON.parse(new TextDecoder().decode(drive.engine.snapshot())) as { readonly format: number }).format;
    const before = formatOf();
    for (let index = 0; index < OPEN_PROPOSALS_OF_USER_MAX; index++)
      drive.receive(create({ kind: "quota", team: teamName("lab"), weight: index + 2 }));
    const { replies } = drive.receive(create(raised));
    expect(replies[0]).toMatchObject({ rejection: { code: "tooManyProposals", actor: "ann" } });
    expect(drive.receive(create(raised, "bob")).replies[0]).toMatchObject({ kind: "accepted" });
    expect(formatOf()).toBeGreaterThan(before);
  });
});

describe("proposals of the control plane", () => {
  it("have places of their own, which proposals of users do not take", () => {
    const drive = fleet(1);
    const weight = (index: number) => ({ kind: "quota", team: teamName("lab"), weight: index + 2 }) as const;
    for (let index = 0; index < OPEN_PROPOSALS_OF_USERS_MAX; index++)
      drive.receive(create(weight(index), `user-${index % 10}`));
    expect(drive.receive(create(drain("n0"), "late")).replies[0]).toMatchObject({
      rejection: { code: "tooManyProposals", actor: null },
    });
    const own = Array.from({ length: OPEN_PROPOSALS_OF_CONTROL_PLANE_MAX }, (_, index) =>
      create(index === 0 ? drain("n0") : weight(1_000 + index), CONTROL_PLANE_ACTOR),
    );
    expect(drive.receive(...own).replies.every(({ kind }) => kind === "accepted")).toBe(true);
    expect(drive.receive(create(weight(2_000), CONTROL_PLANE_ACTOR)).replies[0]).toMatchObject({ kind: "rejected" });
  });
});

describe("a removal of a gated alias", () => {
  const artifact = { kind: "model", team: teamName("default"), name: "chat" } as const;
  const removed: ProposedChange = { kind: "alias", artifact: artifactKey(artifact), alias: "production", number: null };
  const content = { ...artifact, digest: null, bytes: null, places: [], inputs: [] };
  const registered = command({ kind: "registerArtifact", artifact: content, aliases: ["production"], reason: "" });
  const automatic = setRule({ ...usualProposalRules.alias, mode: "automatic" });
  const gate: ArtifactChange = {
    kind: "gate",
    alias: "production",
    gate: { test: { metric: "score", operator: "gt", value: null } },
  };

  it("needs an approver also under the rule automatic, since any version would pass the gate after it", () => {
    const drive = new Drive();
    const gated = command({ kind: "changeArtifact", artifact, change: gate, reason: "" });
    drive.receive(registered, gated, automatic, create(removed));
    const [id = ""] = drive.engine.state.proposals.keys();
    expect(get(drive, id).phase).toBe("simulated");
    drive.receive(decide(id, "approve"));
    expect(get(drive, id).phase).not.toBe("simulated");
    expect(drive.engine.state.artifacts.get(artifactKey(artifact))?.aliases.at(-1)).toMatchObject({ number: null });
  });

  it("is made by the rule where no gate is left", () => {
    const drive = new Drive();
    drive.receive(registered, automatic, create(removed));
    expect([...drive.engine.state.proposals.values()].map(({ phase }) => phase)).not.toContain("simulated");
  });
});

describe("budgets of change", () => {
  const automatic: ProposalRule = { ...usualProposalRules.drain, mode: "automatic", perHourMax: 3 };

  it("hold for automatic drains against more faults than they allow, and go on as time passes", () => {
    const drive = fleet(40);
    drive.receive(setRule(automatic));
    for (let index = 0; index < 20; index++) propose(drive, drain(`n${index}`), [], `health-${index % 2}`);
    expect(draining(drive)).toEqual(["n0", "n1", "n2"]);
    drive.passTo(HOUR_MS);
    expect(draining(drive)).toHaveLength(3);
    drive.passTo(HOUR_MS + 1);
    expect(draining(drive)).toEqual(["n0", "n1", "n2", "n3", "n4", "n5"]);
    drive.restart();
    drive.passTo(3 * HOUR_MS);
    expect(draining(drive).length).toBeLessThanOrEqual(9);
  });

  it("hold for a part of a pool against faults of 750 of 1,500 nodes at once", () => {
    const drive = fleet(1_500);
    drive.receive(setRule({ ...automatic, perHourMax: 1_000, poolPercentPerHourMax: 1 }));
    const faulty = Array.from({ length: 750 }, (_, index) => create(drain(`n${index}`), `watch-${index % 10}`));
    const { replies } = drive.receive(...faulty);
    const open = [...drive.engine.state.proposals.keys()];
    expect(replies.filter(({ kind }) => kind === "rejected")).toHaveLength(750 - OPEN_PROPOSALS_OF_USERS_MAX);
    drive.receive(...open.map((id) => simulated(id, drive.nowMs)));
    expect(draining(drive)).toHaveLength(15);
    drive.passTo(HOUR_MS);
    expect(draining(drive)).toHaveLength(15);
    drive.passTo(HOUR_MS + 1);
    expect(draining(drive)).toHaveLength(30);
  });

  it("hold for a part of a pool, also for proposals that a user approves", () => {
    const drive = fleet(10);
    drive.receive(setRule({ ...usualProposalRules.drain, perHourMax: 100, poolPercentPerHourMax: 20 }));
    const ids = [0, 1, 2].map((index) => propose(drive, drain(`n${index}`)));
    const { replies } = drive.receive(...ids.map((id) => decide(id, "approve")));
    expect(replies.map(({ kind }) => kind)).toEqual(["accepted", "accepted", "rejected"]);
    expect(replies[2]).toMatchObject({
      rejection: { code: "changeBudgetUsed", pool: "H100", count: 2, maxCount: 2, freeAtMs: HOUR_MS },
    });
    expect(draining(drive)).toEqual(["n0", "n1"]);
  });
});
