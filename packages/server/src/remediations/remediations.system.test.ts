/** Drift of a real control plane: nodes whose facts are files are changed in waves by real commands, and proven. */
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";
import { isTurnOf } from "../../../../tools/testing/rotating.ts";

const WAIT_MS = 90_000;
const ansible = (process.env["PATH"] ?? "").split(":").find((folder) => existsSync(`${folder}/ansible-playbook`));
const local = { nodeName: "n", nodeCount: 4, slotCount: 1, accelerators: "declared" } as const;
let home: string;
let live: LiveControlPlane;

const nodeFile = (node: string, what: string): string => path.join(home, "facts", `${node}.${what}`);
const shell = (script: string): readonly string[] => [
  "/bin/sh",
  "-c",
  script,
  "sh",
  "{node}",
  path.join(home, "facts"),
];

/** The facts of a node are `{"nccl": …}`; `change` is what the command does to it. */
function declare(change: string, more: Readonly<Record<string, unknown>> = {}): void {
  const document = {
    kind: "remediation",
    name: "nccl",
    pools: ["local"],
    desired: { nccl: "2.21" },
    facts: shell('cat "$2/$1.json"'),
    command: shell(change),
    canary: 1,
    wave: 2,
    proofTimeout: "1s",
    ...more,
  };
  writeFileSync(path.join(home, "remediations.yaml"), JSON.stringify(document));
}

const UPDATE = 'echo "$1" >> "$2/order"; echo "{\\"nccl\\":\\"2.21\\"}" > "$2/$1.json"';

async function begin(): Promise<string[]> {
  live = await startLive(home, { local });
  const nodes = (await live.client.listNodes()).items.map(({ id }) => id);
  for (const node of nodes)
    if (!existsSync(nodeFile(node, "json"))) writeFileSync(nodeFile(node, "json"), '{"nccl":"2.19"}');
  for (const kind of ["remediate", "drain"] as const)
    await live.client.setProposalRule(kind, { ownApproval: true, perHourMax: 100, poolPercentPerHourMax: 100 });
  return nodes;
}

async function approved(nodeIds: string[]): Promise<string> {
  const change = { kind: "remediate", remediation: "nccl", nodeIds } as const;
  const { id, phase } = await live.client.createProposal({ change, reason: "slow all-reduce" });
  expect(phase).toBe("simulated");
  await live.client.decideProposal(id, { verdict: "approve" });
  return id;
}

const ended = async (id: string) => {
  const phaseOf = async (): Promise<string> =>
    (await live.client.listRemediationRuns()).items.find((run) => run.id === id)?.phase ?? "none";
  await expect.poll(phaseOf, { timeout: WAIT_MS }).toMatch(/^(done|stopped|cancelled)$/);
  return live.client.getRemediationRun(id);
};

const draining = async (): Promise<string[]> =>
  (await live.client.listNodes()).items.filter((node) => node.draining).map(({ id }) => id);

beforeEach(() => {
  home = temporaryHome();
  mkdirSync(path.join(home, "facts"));
});
afterEach(async () => {
  await live.close();
  removeHome(home);
});

describe.skipIf(!isTurnOf("remediations"))("remediation of drift", () => {
  it("changes the canary, then waves; drains, proves and returns each node", async () => {
    declare(UPDATE, { test: shell("echo 100") });
    const nodes = await begin();
    const check = await live.client.checkRemediation("nccl");
    expect(check).toMatchObject({ nodeCount: 4, nodes: nodes.map((nodeId) => ({ nodeId, problem: null })) });
    const id = await approved(nodes);
    const run = await ended(id);
    expect(run).toMatchObject({ phase: "done", waveCount: 3, remediation: "nccl" });
    expect(run.nodes.map(({ wave, phase, before, after }) => [wave, phase, before, after])).toEqual(
      [0, 1, 1, 2].map((wave) => [wave, "returned", 100, 100]),
    );
    expect(readFileSync(nodeFile("order", "").slice(0, -1), "utf8").split("\n")[0]).toBe(nodes[0]);
    expect(await draining()).toEqual([]);
    // Each drain is on the record as a proposal with its simulated effect.
    const proposals = (await live.client.listProposals({ all: true })).items;
    const drains = proposals.filter(({ change, agent }) => change.kind === "drain" && agent === "remediation");
    expect(drains.map(({ phase }) => phase)).toEqual(Array(4).fill(expect.stringMatching(/acted|scored/)));
    // Nodes that are as desired are left alone.
    const again = await ended(await approved(nodes.slice(0, 1)));
    expect(again.nodes.map(({ phase }) => phase)).toEqual(["asDesired"]);
    expect(live.complaints).toEqual([]);
  }, 180_000);

  it.each([
    ["a command that fails", "echo broken >&2; exit 3", {}, "ended with code 3: broken"],
    ["facts that stay", "true", {}, "nccl is 2.19 after the change, expected 2.21"],
    [
      "a slower node",
      UPDATE,
      { test: ["/bin/sh", "-c", 'test -e "$0/order" && echo 80 || echo 100', "HERE", "{node}"] },
      "20% slower",
    ],
  ])(
    "stops at %s, and keeps the node out of service",
    async (_what, command, more, reason) => {
      const test = (more as { test?: string[] }).test?.map((word) =>
        word === "HERE" ? path.join(home, "facts") : word,
      );
      declare(command, test === undefined ? {} : { test });
      const nodes = await begin();
      const run = await ended(await approved(nodes));
      expect(run).toMatchObject({ phase: "stopped", reason: expect.stringContaining(reason) });
      expect(run.nodes.map(({ phase }) => phase)).toEqual(["failed", "left", "left", "left"]);
      expect(await draining()).toEqual(nodes.slice(0, 1));
    },
    180_000,
  );

  it("continues after a restart, obeys the budget of change, and is cancelled", async () => {
    declare(UPDATE);
    const nodes = await begin();
    await live.client.setProposalRule("remediate", { poolPercentPerHourMax: 50 });
    const id = await approved(nodes);
    const changed = async (): Promise<number> =>
      readdirSync(path.join(home, "facts")).filter(
        (name) => name.endsWith(".json") && readFileSync(path.join(home, "facts", name), "utf8").includes("2.21"),
      ).length;
    await expect.poll(changed, { timeout: WAIT_MS }).toBeGreaterThan(0);
    await live.close();
    live = await startLive(home, { local });
    await expect
      .poll(async () => (await live.client.getRemediationRun(id)).waitsFor, { timeout: WAIT_MS })
      .toMatch(/^2 nodes of pool local .* budget of change is 2/);
    const returned = async () =>
      (await live.client.getRemediationRun(id)).nodes.filter(({ phase }) => phase === "returned").length;
    await expect.poll(returned, { timeout: WAIT_MS }).toBe(2);
    await live.client.cancelRemediationRun(id);
    const run = await ended(id);
    expect(run.phase).toBe("cancelled");
    expect(run.nodes.map(({ phase }) => phase).toSorted()).toEqual(["left", "left", "returned", "returned"]);
    expect(await changed()).toBe(2);
    expect(await draining()).toEqual([]);
    await expect(live.client.cancelRemediationRun(id)).rejects.toThrow(/is cancelled/);
  }, 240_000);

  // Debian's ansible-core. Without it the case is listed as skipped.
  it.skipIf(ansible === undefined)(
    "changes nodes with an Ansible playbook",
    async () => {
      const playbook = path.join(home, "nccl.yml");
      const task = {
        name: "update",
        "ansible.builtin.copy": {
          content: '{"nccl":"{{ nccl }}"}',
          dest: `${path.join(home, "facts")}/{{ inventory_hostname }}.json`,
        },
      };
      writeFileSync(playbook, JSON.stringify([{ hosts: "all", gather_facts: false, tasks: [task] }]));
      declare("", { command: undefined, ansible: { playbook, connection: "local", vars: { nccl: "2.21" } } });
      const nodes = await begin();
      const run = await ended(await approved(nodes.slice(0, 1)));
      expect(run).toMatchObject({ phase: "done", nodes: [{ phase: "returned", detail: "proven" }] });
    },
    180_000,
  );

  it("refuses what the operator's file does not state, and stops when the file changes", async () => {
    declare(UPDATE);
    const [node = ""] = await begin();
    const ask = (remediation: string, nodeIds: string[]) =>
      live.client.createProposal({ change: { kind: "remediate", remediation, nodeIds }, reason: "test" });
    await expect(ask("other", [node])).rejects.toThrow(/no remediation other/);
    await expect(ask("nccl", ["elsewhere"])).rejects.toThrow(/no nodes of local/);
    const { id } = await ask("nccl", [node]);
    declare("rm -rf /nothing");
    await live.client.decideProposal(id, { verdict: "approve" });
    const run = await ended(id);
    expect(run).toMatchObject({
      phase: "stopped",
      reason: expect.stringContaining("changed or removed after the approval"),
    });
    expect(await draining()).toEqual([]);
  }, 180_000);

  it("leaves a proposed drain of another user to its decision, and the node drained", async () => {
    declare(UPDATE);
    const [node = ""] = await begin();
    const drain = { kind: "drain", nodeId: node, running: "wait" } as const;
    const { id: other } = await live.client.createProposal({ change: drain, reason: "its fan is broken" });
    const id = await approved([node]);
    const waitsFor = async (): Promise<string> => (await live.client.getRemediationRun(id)).waitsFor;
    await expect.poll(waitsFor, { timeout: WAIT_MS }).toBe(`a decision about proposal ${other}`);
    expect((await live.client.getProposal(other)).phase).toBe("simulated");
    await live.client.decideProposal(other, { verdict: "approve" });
    const run = await ended(id);
    expect(run.nodes).toMatchObject([{ phase: "returned", detail: "proven; it stays drained, as before" }]);
    expect(await draining()).toEqual([node]);
  }, 180_000);

  it("changes a node that is in service again only after another drain", async () => {
    const GO = 'until test -e "$2/go"; do sleep 0.1; done; echo 100';
    declare(UPDATE, { test: shell(GO) });
    const [node = ""] = await begin();
    const id = await approved([node]);
    const phase = async () => (await live.client.getRemediationRun(id)).nodes[0]?.phase;
    await expect.poll(phase, { timeout: WAIT_MS }).toBe("changing");
    await live.client.resumeNode(node);
    writeFileSync(path.join(home, "facts", "go"), "");
    expect(await ended(id)).toMatchObject({ phase: "stopped", reason: expect.stringContaining("resumed the node") });
    expect(readFileSync(nodeFile(node, "json"), "utf8")).toContain("2.19");
  }, 180_000);

  it("changes a node for one run at a time", async () => {
    declare(`test ! -e "$2/busy" || exit 7; touch "$2/busy"; sleep 2; ${UPDATE}; rm "$2/busy"`);
    const [node = "", second = ""] = await begin();
    const ids = [await approved([node]), await approved([node, second])];
    const runs = [await ended(ids[0] ?? ""), await ended(ids[1] ?? "")];
    expect(runs.map(({ phase }) => phase)).toEqual(["done", "done"]);
    expect(
      readFileSync(path.join(home, "facts", "order"), "utf8")
        .trim()
        .split("\n")
        .toSorted(),
    ).toEqual([node, second].toSorted());
    expect(await draining()).toEqual([]);
  }, 180_000);

  it("leaves nodes that were not changed when the file changes", async () => {
    declare(UPDATE, { canary: 2 });
    const nodes = await begin();
    await live.client.setProposalRule("drain", { perHourMax: 0 });
    const id = await approved(nodes);
    const phases = async () => (await live.client.getRemediationRun(id)).nodes.map(({ phase }) => phase);
    await expect.poll(phases, { timeout: WAIT_MS }).toEqual(["draining", "draining", "pending", "pending"]);
    declare("true");
    const run = await ended(id);
    expect(run).toMatchObject({ phase: "stopped", reason: expect.stringContaining("changed or removed") });
    expect(await phases()).toEqual(["left", "left", "left", "left"]);
  }, 180_000);

  it("bounds the facts that a node states", async () => {
    declare(UPDATE, { facts: ["/bin/sh", "-c", "head -c 3000000 /dev/zero", "sh", "{node}"] });
    await begin();
    const [first] = (await live.client.checkRemediation("nccl")).nodes;
    expect(first?.problem).toContain("printed more than 1048576 bytes");
  }, 60_000);

  it.skipIf(ansible === undefined)(
    "refuses a node that has the name of a group of the inventory",
    async () => {
      const inventory = path.join(home, "hosts");
      const playbook = path.join(home, "nccl.yml");
      const task = { name: "touch", "ansible.builtin.copy": { content: "", dest: path.join(home, "touched") } };
      writeFileSync(playbook, JSON.stringify([{ hosts: "all", gather_facts: false, tasks: [task] }]));
      declare("", { command: undefined, ansible: { playbook, inventory, connection: "local" } });
      const [node = ""] = await begin();
      writeFileSync(inventory, `[${node}]\nhost-1\nhost-2\n`);
      const run = await ended(await approved([node]));
      expect(run).toMatchObject({ phase: "stopped", reason: expect.stringContaining("not exactly one host") });
      expect(existsSync(path.join(home, "touched"))).toBe(false);
    },
    180_000,
  );

  it("proposes by itself where the document has a time between checks", async () => {
    const facts = shell('test -e "$2/slow" && sleep 20; cat "$2/$1.json"');
    declare(UPDATE, { checkEvery: "1m", facts });
    // Before the start, because the first check comes with it.
    for (const node of ["n-1", "n-2", "n-3", "n-4"]) writeFileSync(nodeFile(node, "json"), '{"nccl":"2.19"}');
    await begin();
    const found = async () => (await live.client.listFindings()).items.filter(({ kind }) => kind === "drift");
    await expect.poll(async () => (await found())[0]?.proposal?.phase, { timeout: WAIT_MS }).toBe("simulated");
    const [finding] = await found();
    expect(finding?.change).toMatchObject({ kind: "remediate", remediation: "nccl" });
    // A restart forgets the check. The proposal stays until the next one says that the drift is over.
    await live.close();
    writeFileSync(path.join(home, "facts", "slow"), "");
    live = await startLive(home, { local });
    await expect.poll(async () => (await found())[0]?.proposal?.id, { timeout: WAIT_MS }).toBe(finding?.proposal?.id);
  }, 180_000);
});
