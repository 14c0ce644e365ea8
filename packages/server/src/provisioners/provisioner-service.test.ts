/** The provisioner service against a real engine and real commands, without a server. */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { createEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { commandId, nodeId, poolName, siteName, teamName } from "@headroom/model";
import type { BurstRule, CapacityOrder, Input } from "@headroom/model";
import { readProvisioners } from "./provisioner-file.ts";
import { ProvisionerService } from "./provisioner-service.ts";

const burst: BurstRule = {
  provisioner: "test",
  nodesMax: 4,
  acceleratorCount: 8,
  coresMilli: 8_000,
  memoryMib: 1_024,
  leadTimeMs: 1_000,
  leadTimeP95Ms: 2_000,
  orderAfterMs: 0,
  releaseAfterMs: 0,
};

const by = { commandId: commandId("c1"), actor: "ann", idempotencyKey: null };
const pool = {
  name: poolName("spot"),
  site: siteName("dc"),
  executor: "simulated",
  acceleratorType: "H100",
  priceMicroUsdPerHour: 0,
};
const gang = { workers: 2, accelerators: 8, coresMilli: 0, memoryMib: 0 };
const spec = {
  kind: "train",
  name: "a",
  team: teamName("default"),
  run: "true",
  dir: null,
  env: {},
  gang,
  acceleratorTypes: [],
  priority: 0,
  walltimeMs: null,
  retries: { max: 0, backoffMs: 1, backoffMaxMs: 1 },
  graceTimeoutMs: 1,
  checkpointDir: null,
} as const;

class Bench {
  readonly home = mkdtempSync(path.join(tmpdir(), "provisioners-"));
  readonly engine: Engine = createEngine();
  readonly warnings: string[] = [];
  nowMs = 0;
  clockMs = 0;

  /** `script`: a program for Node that answers; `verb` and `order` are defined in it, and `say` prints. */
  constructor(script: string, rule: BurstRule = burst) {
    const file = path.join(this.home, "provisioner.mjs");
    writeFileSync(
      file,
      `import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
const { verb, order } = JSON.parse(readFileSync(0, "utf8"));
const home = ${JSON.stringify(this.home)};
appendFileSync(home + "/calls", verb + " " + order.id + " " + JSON.stringify(order.release ?? null) + "\\n");
const say = (answer) => console.log(JSON.stringify(answer));
${script}`,
    );
    const command = [process.execPath, file];
    writeFileSync(
      path.join(this.home, "provisioners.yaml"),
      JSON.stringify({ kind: "provisioner", name: "test", command, pollSeconds: 1, timeoutSeconds: 20 }),
    );
    this.receive({
      kind: "apply",
      sites: [{ name: siteName("dc"), fabricLevels: [] }],
      pools: [{ ...pool, burst: rule }],
      teams: [],
      workloads: [],
      ...by,
    });
    this.receive({ kind: "submitWorkload", spec, ...by });
  }

  receive(...inputs: readonly Input[]): void {
    this.engine.receive(inputs, this.nowMs);
    this.engine.advance();
  }

  /** A service as after a start of the control plane, at a time when every pause is over. */
  async look(): Promise<void> {
    this.clockMs += 1_000_000;
    const driver = {
      read: async <T>(query: (engine: Engine) => T) => Promise.resolve(query(this.engine)),
      observe: (input: Input) => {
        this.receive(input);
        return undefined;
      },
    };
    const log = {
      info: () => undefined,
      error: () => undefined,
      warn: (text: string) => void this.warnings.push(text),
    };
    await new ProvisionerService({ home: this.home, driver, log, clockMs: () => this.clockMs }).look();
  }

  get order(): CapacityOrder | undefined {
    return this.engine.state.capacityOrders.get("burst-spot-1");
  }

  get requestId(): string {
    return this.order?.automatic?.requestId ?? "";
  }

  get calls(): readonly string[] {
    return readFileSync(path.join(this.home, "calls"), "utf8").trim().split("\n");
  }
}

const cloud = `
const made = home + "/" + order.id;
const nodes = ["m1", "m2"];
if (verb === "create") writeFileSync(made, "");
if (verb === "release") say(order.release === "all" ? { state: "gone" } : { state: "arriving", released: order.release });
else say(existsSync(made) ? { state: "arriving", nodes, pricePerHour: 1.5 } : { state: "unknown" });
`;

const join = (id: string): Input => ({
  kind: "nodeSeen",
  node: { id: nodeId(id), pool: pool.name, fabric: [], acceleratorCount: 8, coresMilli: 8_000, memoryMib: 1_024 },
});

describe("the provisioner service", () => {
  it("creates an order once, also if it starts again before it knows the answer", async () => {
    // The machines are made, and the answer is lost. A second creation would be a second order.
    const lost = 'if (existsSync(made)) process.exit(9); writeFileSync(made, ""); process.exit(1);';
    const bench = new Bench(cloud.replace('writeFileSync(made, "");', `{ ${lost} }`));
    await bench.look();
    expect(bench.order?.phase).toBe("planned");
    expect(bench.warnings[0]).toContain("ended with code 1");
    await bench.look();
    await bench.look();
    expect(bench.order).toMatchObject({ phase: "arriving", price: { microUsd: 1_500_000 } });
    expect(bench.calls.filter((call) => call.startsWith("create"))).toEqual([`create ${bench.requestId} null`]);
    expect(bench.requestId).toMatch(/^burst-spot-1-[a-z0-9]{10}$/);
  });

  it("releases the machines, and ends the order when the provisioner says that they are gone", async () => {
    const bench = new Bench(cloud);
    await bench.look();
    bench.receive(join("m1"), join("m2"));
    expect(bench.order?.phase).toBe("inService");
    bench.receive({
      kind: "attemptExited",
      attemptId: "w1.1" as never,
      exits: [{ kind: "exited", worker: 0, code: 0 }],
    });
    expect(bench.order?.phase).toBe("leaving");
    expect(bench.engine.state.nodes.size).toBe(2);
    await bench.look();
    expect(bench.order?.phase).toBe("gone");
    expect(bench.engine.state.nodes.size).toBe(0);
    expect(bench.calls.at(-1)).toBe(`release ${bench.requestId} "all"`);
  });

  it("never takes the machines of another control plane that has an order of the same name", async () => {
    const [one, other] = [new Bench(cloud), new Bench(cloud)];
    await one.look();
    await other.look();
    expect(one.order?.name).toBe(other.order?.name);
    expect(one.requestId).not.toBe(other.requestId);
    const before = one.requestId;
    await one.look();
    expect(one.requestId).toBe(before);
  });

  it("stops the machines of a failed order that never joined, and keeps the others", async () => {
    const bench = new Bench(
      `
const [made, stopped] = [home + "/" + order.id, home + "/stopped"];
if (verb === "create") writeFileSync(made, "");
if (verb === "release") writeFileSync(stopped, "");
if (!existsSync(made)) say({ state: "unknown" });
else say({ state: existsSync(home + "/full") ? "failed" : "arriving", nodes: existsSync(stopped) ? ["m1"] : ["m1", "m2"] });
`,
      { ...burst, releaseAfterMs: 1_000 },
    );
    await bench.look();
    bench.receive(join("m1"));
    writeFileSync(path.join(bench.home, "full"), "");
    await bench.look();
    expect(bench.order).toMatchObject({ phase: "inService", nodeCount: 1, automatic: { missingCount: 1 } });
    // A machine that is being stopped takes no work.
    bench.receive(join("m2"));
    expect(bench.engine.state.nodes.size).toBe(1);
    await bench.look();
    expect(bench.calls.at(-1)).toBe(`release ${bench.requestId} ["m2"]`);
    await bench.look();
    expect(bench.order?.automatic).not.toHaveProperty("missingCount");
    expect(bench.engine.state.nodes.has(nodeId("m1"))).toBe(true);
  });

  it.each([
    ["prints nothing", ""],
    ["prints a part of an answer", 'process.stdout.write("{\\"state\\": \\"arri")'],
    ["prints an unknown state", 'say({ state: "perhaps" })'],
    ["names a date before all instants", 'say({ state: "arriving", expectedAt: "0001-01-01T00:00:00Z" })'],
    ["names a machine with a path", 'say({ state: "arriving", nodes: ["../m1"] })'],
    ["fails", "process.exit(3)"],
    ["does not know the order that it made", 'say({ state: "unknown" })'],
  ])("changes nothing if the provisioner %s", async (_name, script) => {
    const bench = new Bench(`if (existsSync(home + "/broken")) { ${script} } else { ${cloud} }`);
    await bench.look();
    const before = bench.engine.digest();
    expect(bench.order?.phase).toBe("arriving");
    writeFileSync(path.join(bench.home, "broken"), "");
    await bench.look();
    expect(bench.engine.digest()).toBe(before);
    // Silence towards the operator would hide an order that never ends.
    expect(bench.warnings).toHaveLength(1);
  });

  it("lists every problem of the file", () => {
    const { home } = new Bench(cloud);
    const document = { kind: "provisioner", name: "manual", command: [], secrets: { TOKEN: "plain text" } };
    writeFileSync(path.join(home, "provisioners.yaml"), JSON.stringify(document));
    expect(() => readProvisioners(home)).toThrow(/command.*\n.*secrets\.TOKEN: must be env:NAME or file:\/PATH/s);
  });
});
