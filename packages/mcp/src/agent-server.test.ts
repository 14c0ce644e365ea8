/** Agents within their bounds: which operations they reach, how much and how often, with the client of the SDK. */
import { operations } from "@headroom/protocol";
import type { Operation } from "@headroom/protocol";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { describe, expect, it } from "vitest";
import { createAgentServer } from "./agent-server.ts";
import type { RecordedCall } from "./agent-server.ts";

interface Reached {
  readonly operation: Operation;
  readonly request: {
    readonly params?: object | undefined;
    readonly query?: object | undefined;
    readonly body?: unknown;
  };
}

async function connected(answer: () => unknown = () => ({ items: [] }), clock = { nowMs: 0 }) {
  const reached: Reached[] = [];
  const calls: RecordedCall[] = [];
  const server = createAgentServer({
    version: "0",
    nowMs: () => clock.nowMs,
    call: async (operation, request) => {
      reached.push({ operation, request });
      return answer();
    },
    record: (call) => calls.push(call),
  });
  const client = new Client({ name: "fuzz <agent>", version: "1" });
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  await client.connect(near);
  const textOf = async (name: string, given: Record<string, unknown> = {}): Promise<string> => {
    const { content } = await client.callTool({ name, arguments: given });
    const [first] = content as readonly { readonly text?: string }[];
    return first?.text ?? "";
  };
  return { client, reached, calls, clock, textOf };
}

/** The operations with which an agent changes anything. */
const writes: ReadonlySet<Operation> = new Set<Operation>([
  operations.createProposal,
  operations.simulateProposal,
  operations.withdrawProposal,
]);

const limit = { kind: "quota", team: "lab", limit: { accelerators: 4 } } as const;

describe("an agent", () => {
  it("gets the reads of the table and the commands of a proposer, and no decision", async () => {
    const { client } = await connected();
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(["fleet", "queue", "explainWorkload", "listProposals", "createProposal"]),
    );
    for (const name of ["decideProposal", "setProposalRule", "drainNode", "listTokens", "snapshot", "events", "logs"])
      expect(names).not.toContain(name);
    const create = tools.find(({ name }) => name === "createProposal");
    expect(Object.keys(create?.inputSchema.properties ?? {})).toEqual(["change", "reason", "ground"]);
    expect(create?.annotations?.readOnlyHint).toBe(false);
  });

  it("proposes under the name with which it connected, whatever it states", async () => {
    const { reached, calls, textOf } = await connected();
    await textOf("createProposal", { change: limit, reason: "growth", agent: "ann" });
    expect(reached[0]?.request.body).toMatchObject({ change: limit, agent: "fuzz -agent- 1" });
    expect(calls).toEqual([
      { atMs: 0, agent: "fuzz -agent- 1", tool: "createProposal", outcome: "answered", detail: "" },
    ]);
  });

  it("gets bounded lists and answers, and is told what is wrong", async () => {
    let answer: unknown = {};
    const { reached, textOf } = await connected(() => answer);
    await textOf("listNodes");
    expect(reached[0]?.request.query).toEqual({ limit: "20" });
    answer = { text: "x".repeat(70_000) };
    expect(await textOf("fleet")).toMatch(/^The answer has 70011 characters, and the limit is 65536/);
    expect(await textOf("decideProposal", { id: "p1", verdict: "approve" })).toBe("There is no tool decideProposal.");
    expect(await textOf("getNode", { id: "n1", force: true })).toBe("Unknown arguments: force.");
    // `/v1/nodes/../accelerators` is another operation.
    expect(await textOf("nodeTelemetry", { id: ".." })).toBe("id: must not be ..");
    expect(await textOf("listNodes", { limit: 1e9 })).toMatch(/^limit: must be a whole number/);
    expect(await textOf("getNode", { id: "n".repeat(20_000) })).toMatch(/more than 16384 characters/);
  });

  it("is slowed down", async () => {
    const { reached, clock, textOf } = await connected();
    for (let index = 0; index < 70; index++) await textOf("status");
    expect(reached).toHaveLength(60);
    clock.nowMs += 1_000;
    for (let index = 0; index < 5; index++) await textOf("status");
    expect(reached).toHaveLength(62);
  });

  it("stays within its bounds in fuzzed calls", async () => {
    const count =
      process.env["HEADROOM_FUZZED_CALLS"] === undefined ? 1_000 : Number(process.env["HEADROOM_FUZZED_CALLS"]);
    const { reached, calls, clock, textOf } = await connected();
    const names = [...Object.keys(operations), "", "__proto__", "constructor", "x".repeat(500)];
    const values = [
      "w1",
      "../../tokens",
      "p1",
      "a/b",
      "\u0000",
      "true",
      1e21,
      -1,
      null,
      [],
      { a: {} },
      limit,
      "approve",
    ];
    const fields = [
      "id",
      "name",
      "limit",
      "cursor",
      "change",
      "reason",
      "ground",
      "agent",
      "verdict",
      "kind",
      "__proto__",
    ];
    // A linear congruential generator, so that a failure repeats.
    let seed = 7;
    const one = <Item>(items: readonly Item[]): Item => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      return items[(seed >>> 8) % items.length] as Item;
    };
    for (let number = 0; number < count; number++) {
      const given = Object.fromEntries([0, 1, 2].map(() => [one(fields), one(values)]));
      clock.nowMs += 600;
      expect((await textOf(one(names), given)).length).toBeLessThanOrEqual(65_536);
    }
    expect(calls).toHaveLength(count);
    for (const { operation, request } of reached) {
      expect(writes.has(operation) || operation.method === "GET").toBe(true);
      expect(operation.permission).not.toMatch(/^(?:tokens|sessions|events)\./);
      expect(operation.params.safeParse(request.params ?? {}).success).toBe(true);
    }
  });
});
