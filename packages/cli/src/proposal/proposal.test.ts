/** `headroom proposal` and `headroom mcp` against a running control plane: an agent proposes, a user decides. */
import { spawn } from "node:child_process";
import path from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive();
});
afterAll(() => live.close());

async function headroom(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await live.headroom(args);
  return code === 0 ? stdout.trimEnd() : `${code} ${stderr.trimEnd()}`;
}

interface ProposalAnswer {
  readonly id: string;
  readonly phase: string;
  readonly agent?: string;
  readonly effect: { readonly earlierCount: number };
}

/** Sends messages of the protocol to `headroom mcp`; returns the answer to the last one and what stderr says. */
async function agent(token: string, name: string, given: object): Promise<{ text: string; record: string }> {
  const program = path.resolve(import.meta.dirname, "../../bin/headroom.mjs");
  const env = { ...process.env, HEADROOM_URL: live.plane.url, HEADROOM_TOKEN: token, HEADROOM_USER: "tester" };
  const child = spawn(process.execPath, [program, "mcp"], { cwd: live.folder, env });
  let record = "";
  child.stderr.on("data", (piece) => (record += String(piece)));
  const send = (message: object): void => void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const clientInfo = { name: "ops-agent", version: "2" };
  send({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } });
  send({ method: "notifications/initialized" });
  send({ id: 2, method: "tools/call", params: { name, arguments: given } });
  let text = "";
  for await (const line of createInterface({ input: child.stdout })) {
    const { id, result } = JSON.parse(line) as { id: number; result: { content?: readonly { text: string }[] } };
    if (id !== 2) continue;
    text = result.content?.[0]?.text ?? "";
    child.stdin.end();
  }
  return { text, record };
}

describe("proposals", () => {
  it("of an agent are simulated, approved by another user and made", async () => {
    const { token } = live.plane;
    const change = { kind: "priority", workloadId: "w1", priority: 50 } as const;
    const run = ["run", "--name", "wide", "--gpus", "1", "--", "sleep", "60"];
    await headroom(...run);
    const { text, record } = await agent(token ?? "", "createProposal", { change, reason: "demo on Friday" });
    const proposal = JSON.parse(text) as ProposalAnswer;
    expect(proposal).toMatchObject({ phase: "simulated", agent: "ops-agent 2", effect: { earlierCount: 0 } });
    expect(JSON.parse(record.trim().split("\n").at(-1) ?? "")).toMatchObject({
      agent: "ops-agent 2",
      tool: "createProposal",
      outcome: "answered",
    });
    expect(await headroom("proposal", "list")).toMatch(/simulated .*\(ops-agent 2\).*priority of w1 to 50/);
    expect(await headroom("proposal", "approve", proposal.id)).toMatch(/^1 .*another user must approve/);
    expect(await headroom("--user", "lead", "proposal", "approve", proposal.id)).toMatch(/approved +lead/);
    expect(await headroom("proposal", "show", proposal.id)).toMatch(/is made/);
    expect(await headroom("show", "w1", "--json")).toMatch(/"priority": 50/);
  });

  it("of an agent are scored when the simulated starts took place", async () => {
    const { token } = live.plane;
    expect(await headroom("stop", "w1", "--yes")).not.toMatch(/^\d /);
    const submit = (name: string, seconds: string): Promise<string> =>
      headroom("run", "--name", name, "--gpus", "4", "--walltime", "60s", "--", "sleep", seconds);
    for (const [name, seconds] of [
      ["first", "6"],
      ["second", "1"],
      ["third", "1"],
    ] as const)
      await submit(name, seconds);
    const third = "w4";
    const change = { kind: "priority", workloadId: third, priority: 90 } as const;
    const { text } = await agent(token ?? "", "createProposal", { change, reason: "demo" });
    const { id, phase, effect } = JSON.parse(text) as ProposalAnswer;
    expect([phase, effect.earlierCount]).toEqual(["simulated", 1]);
    expect(await headroom("--user", "lead", "proposal", "approve", id)).toMatch(/approved +lead/);
    await expect
      .poll(() => headroom("proposal", "show", id), { timeout: 60_000, interval: 500 })
      .toMatch(/is made and scored\. 2 of 2 expected starts took place/);
  }, 120_000);

  it("say what is missing", async () => {
    expect(await headroom("proposal", "create", "quota", "default", "--limit", "accelerators=2")).toMatch(
      /^2 .*--reason/,
    );
    expect(await headroom("proposal", "create", "quota", "default", "--reason", "x")).toMatch(/^2 .*what changes/);
    expect(await headroom("proposal", "approve", "p999")).toMatch(/^1 .*There is no proposal p999/);
    expect(await headroom("proposal", "rule", "drain", "--mode", "automatic")).toMatch(/automatic .*at most 4 an hour/);
  });
});
