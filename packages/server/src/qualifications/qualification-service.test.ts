/** The service of qualifications against a real engine and real processes, without a server. */
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { createEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { commandId, nodeId, poolName, siteName } from "@headroom/model";
import type { Input, Node, Pool, QualificationRule } from "@headroom/model";
import type { CommandRequest } from "../driver/driver.ts";
import { QualificationService } from "./qualification-service.ts";

const by = { commandId: commandId("c1"), actor: "ann", idempotencyKey: null };
const rule: QualificationRule = { suite: "quick", limitMs: 60_000, atOnce: 1 };
const LOOKS_MAX = 1_200;
const PAUSE_MS = 50;
const passing = `console.log(JSON.stringify({ suite: "quick", results: [{ test: "t", value: 1, verdict: "pass" }], complete: true }));`;
const homes: string[] = [];

class Bench {
  readonly home = mkdtempSync(path.join(tmpdir(), "qualifications-"));
  readonly engine: Engine = createEngine();
  readonly warnings: string[] = [];
  service: QualificationService;

  /** `script`: the suite, as a program for Node; `node` and `calls` (the runs so far) are defined in it. */
  constructor(script: string, own: Partial<QualificationRule> = {}, repeat: number | null = 1) {
    homes.push(this.home);
    const file = path.join(this.home, "suite.mjs");
    writeFileSync(
      file,
      `import { appendFileSync, existsSync, readFileSync } from "node:fs";
const node = process.argv[2];
const home = ${JSON.stringify(this.home)};
appendFileSync(home + "/calls", node + "\\n");
const calls = readFileSync(home + "/calls", "utf8").trim().split("\\n").length;
${script}`,
    );
    writeFileSync(
      path.join(this.home, "qualifications.yaml"),
      JSON.stringify({
        kind: "suite",
        name: "quick",
        pools: ["h100"],
        command: [process.execPath, file, "{node}"],
        tests: ["t"],
        ...(repeat === null ? {} : { repeat }),
      }),
    );
    this.service = this.restart();
    this.pool({ ...rule, ...own });
  }

  /** Another control plane on the same state directory and journal. */
  restart(): QualificationService {
    const driver = {
      read: async <Result>(read: (engine: Engine) => Result) => read(this.engine),
      observe: (input: Input) => {
        this.receive(input);
        return undefined;
      },
      command: async (request: CommandRequest) => {
        this.receive({ ...request, commandId: commandId("c2") });
        return { kind: "accepted" } as never;
      },
    };
    const log = { warn: (message: string) => void this.warnings.push(message) };
    this.service = new QualificationService({ home: this.home, driver, log, nowMs: Date.now });
    return this.service;
  }

  receive(...inputs: readonly Input[]): void {
    this.engine.receive(inputs, Date.now());
    this.engine.advance();
  }

  pool(qualification: QualificationRule | null): Pool {
    const pool = {
      name: poolName("h100"),
      site: siteName("dc"),
      executor: "simulated",
      acceleratorType: "H100",
      priceMicroUsdPerHour: 0,
      ...(qualification === null ? {} : { qualification }),
    };
    const sites = [{ name: siteName("dc"), fabricLevels: [] }];
    this.receive({ ...by, kind: "apply", sites, pools: [pool], teams: [], workloads: [] });
    return pool;
  }

  join(...names: readonly string[]): void {
    for (const name of names) {
      const shape = { acceleratorCount: 8, coresMilli: 8_000, memoryMib: 1_024 };
      this.receive({ kind: "nodeSeen", node: { id: nodeId(name), pool: poolName("h100"), fabric: [], ...shape } });
    }
  }

  node(name: string): Node | undefined {
    return this.engine.state.nodes.get(nodeId(name));
  }

  calls(): readonly string[] {
    try {
      return readFileSync(path.join(this.home, "calls"), "utf8").trim().split("\n");
    } catch {
      return [];
    }
  }

  /** Looks until it holds. */
  async until(holds: () => boolean): Promise<void> {
    for (let look = 0; look < LOOKS_MAX && !holds(); look++) {
      await this.service.look();
      await pause(PAUSE_MS);
    }
    expect(holds(), `calls ${this.calls().join(" ")}; ${this.warnings.join("; ")}`).toBe(true);
  }

  runner(): number {
    const folder = path.join(this.home, "qualifications");
    const [run = ""] = readdirSync(folder);
    return (JSON.parse(readFileSync(path.join(folder, run, "claim.json"), "utf8")) as { pid: number }).pid;
  }
}

/** Whether the process lives; one that is dead and not yet waited for does not. */
function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

afterEach(() => {
  for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true, maxRetries: 5 });
});

describe("qualification of nodes", () => {
  it("compares the medians of three runs by default, and ends with the first run that fails", async () => {
    const figure = `console.log(JSON.stringify({ suite: "quick", results: [{ test: "t", value: [0, 30, 10, 20][calls], unit: "GB/s" }], complete: true }));`;
    const bench = new Bench(figure, {}, null);
    bench.join("n1");
    await bench.until(() => bench.node("n1")?.qualification === undefined && bench.calls().length > 0);
    expect(bench.calls()).toHaveLength(3);
    expect(bench.service.resultOf("n1")?.measurements).toMatchObject([{ test: "t", value: 20 }]);
    // The history outlives the process, and a run that proved nothing is part of it.
    expect(bench.restart().historyOf("n1")).toEqual([]);
    await bench.service.look();
    expect(bench.service.historyOf("n1")).toMatchObject([{ suite: "quick", isPassed: true }]);
    const failing = new Bench(`${passing} process.exit(calls === 2 ? 7 : 0);`, {}, null);
    failing.join("n1");
    await failing.until(() => failing.calls().length >= 2 && failing.node("n1")?.qualification === undefined);
    // The second run failed, and the suite was repeated once.
    expect([failing.calls().length, failing.service.resultOf("n1")?.isPassed]).toEqual([5, true]);
    expect(failing.service.historyOf("n1").map(({ isPassed }) => isPassed)).toEqual([true, false]);
    const late = new Bench(`await new Promise((done) => setTimeout(done, 3_000)); ${passing}`, { limitMs: 6_000 }, 9);
    late.join("n1");
    await late.until(() => late.calls().length > 0 && late.node("n1")?.qualification === undefined);
    expect(late.calls()).toHaveLength(1);
  });

  it("judges the runs that ended if a further one does not end in a short rest of the limit", async () => {
    const slow = `await new Promise((done) => setTimeout(done, calls === 2 ? 600_000 : 3_000)); ${passing}`;
    const bench = new Bench(slow, { limitMs: 12_000 }, 3);
    bench.join("n1");
    await bench.until(() => bench.calls().length > 0 && bench.node("n1")?.qualification?.phase !== "running");
    expect([bench.node("n1")?.qualification, bench.calls().length]).toEqual([undefined, 2]);
    expect(bench.service.resultOf("n1")).toMatchObject({ isPassed: true, measurements: [{ test: "t", value: 1 }] });
  });

  it("takes a further run that hangs for no proof", async () => {
    const hanging = `if (calls % 2 === 0) await new Promise((done) => setTimeout(done, 600_000)); ${passing}`;
    const bench = new Bench(hanging, { limitMs: 10_000 }, 3);
    bench.join("n1");
    await bench.until(() => bench.node("n1")?.qualification?.phase === "failed");
    expect(bench.node("n1")?.qualification?.detail).toMatch(
      /^the suite did not end within \d+ ms; the longest run before took \d+ ms$/,
    );
    // Each of the two runs of the suite hangs in its second one.
    expect(bench.calls()).toHaveLength(4);
  });

  it("runs the suite once on each node, as many at a time as the rule allows", async () => {
    const bench = new Bench(passing);
    bench.join("n1", "n2");
    await bench.until(() => {
      const running = [...bench.engine.state.nodes.values()].filter(
        ({ qualification }) => qualification?.phase === "running",
      );
      expect(running.length).toBeLessThanOrEqual(1);
      return bench.node("n1")?.qualification === undefined && bench.node("n2")?.qualification === undefined;
    });
    expect(bench.calls()).toEqual(["n1", "n2"]);
    expect(bench.service.resultOf("n2")).toMatchObject({ isPassed: true, suite: "quick" });
    await bench.service.look();
    expect(readdirSync(path.join(bench.home, "qualifications"))).toEqual([]);
  });

  it("measures the network of two nodes at a time with different peers, also over a restart", async () => {
    const bench = new Bench(
      `appendFileSync(home + "/peers", node + " " + process.argv[3] + "\\n");
while (node !== "p1" && !existsSync(home + "/go-" + node)) await new Promise((done) => setTimeout(done, 20));
${passing}`,
      { atOnce: 4 },
    );
    const file = path.join(bench.home, "qualifications.yaml");
    writeFileSync(file, readFileSync(file, "utf8").replace('"{node}"', '"{node}","{peers}"'));
    bench.join("p1");
    await bench.until(() => bench.node("p1")?.qualification === undefined);
    bench.join("n1", "n2");
    await bench.until(() => bench.calls().length === 2);
    bench.restart();
    for (let look = 0; look < 3; look++) await bench.service.look();
    expect(bench.node("n2")?.qualification?.phase).toBe("running");
    expect(readdirSync(path.join(bench.home, "qualifications"))).toHaveLength(1);
    for (const node of ["n1", "n2"]) writeFileSync(path.join(bench.home, `go-${node}`), "");
    await bench.until(() => bench.node("n2")?.qualification === undefined);
    expect(readFileSync(path.join(bench.home, "peers"), "utf8")).toMatch(/^p1 \nn1 p1\nn2 (?:p1|n1)\n$/);
  });

  it("compares results of the same command and baseline", async () => {
    const bench = new Bench(
      `const figures = Number(process.argv[3] ?? readFileSync(home + "/figures", "utf8"));
const results = [{ test: "t", verdict: "pass" }, ...Array.from({ length: figures }, () => ({ test: "gpu", value: 100, unit: "GB/s" }))];
console.log(JSON.stringify({ suite: "quick", results, complete: true }));`,
      { atOnce: 3 },
    );
    const isProven = (name: string): boolean => bench.node(name)?.qualification === undefined;
    const figures = path.join(bench.home, "figures");
    writeFileSync(figures, "8");
    bench.join("n1", "n2", "n3");
    await bench.until(() => ["n1", "n2", "n3"].every(isProven));
    writeFileSync(figures, "7");
    bench.join("n4");
    await bench.until(() => bench.node("n4")?.qualification?.phase === "failed");
    expect(bench.service.resultOf("n4")?.detail).toBe("gpu: 7 figures, its peers 8");
    // The accelerators were removed by plan.
    const file = path.join(bench.home, "qualifications.yaml");
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), baseline: "seven" }));
    bench.receive({ ...by, kind: "qualifyNode", nodeId: nodeId("n4") });
    await bench.until(() => isProven("n4"));
    // The suite measures less.
    const declared = JSON.parse(readFileSync(file, "utf8")) as { readonly command: readonly string[] };
    writeFileSync(file, JSON.stringify({ ...declared, command: [...declared.command, "6"] }));
    bench.join("n5");
    await bench.until(() => isProven("n5"));
    expect(bench.service.resultOf("n5")?.measurements).toHaveLength(7);
  });

  it("continues over a restart, and begins no run twice", async () => {
    const bench = new Bench(
      `while (!existsSync(home + "/go")) await new Promise((done) => setTimeout(done, 20)); ${passing}`,
    );
    bench.join("n1");
    await bench.until(() => bench.calls().length === 1);
    bench.restart();
    await bench.service.look();
    await bench.service.look();
    expect(bench.node("n1")?.qualification?.phase).toBe("running");
    writeFileSync(path.join(bench.home, "go"), "");
    await bench.until(() => bench.node("n1")?.qualification === undefined);
    expect(bench.calls()).toEqual(["n1"]);
  });

  it("repeats a run once whose process was killed; then the node stays out until a user asks", async () => {
    const bench = new Bench(`if (calls < 3) await new Promise((done) => setTimeout(done, 600_000)); ${passing}`);
    bench.join("n1");
    for (const run of [1, 2]) {
      await bench.until(() => bench.calls().length === run && bench.node("n1")?.qualification?.run === run);
      process.kill(bench.runner(), "SIGKILL");
      await bench.until(() => bench.node("n1")?.qualification?.detail?.includes("was cut") === true);
    }
    expect(bench.node("n1")?.qualification).toMatchObject({ phase: "failed", run: 2 });
    await bench.service.look();
    expect(bench.calls()).toHaveLength(2);
    bench.receive({ ...by, kind: "qualifyNode", nodeId: nodeId("n1") });
    await bench.until(() => bench.node("n1")?.qualification === undefined);
  });

  it("takes late, empty and incomplete results for no proof", async () => {
    const late = new Bench(`await new Promise((done) => setTimeout(done, 600_000)); ${passing}`, { limitMs: 1_000 });
    const empty = new Bench("");
    const other = new Bench(passing.replace('"t"', '"other"'));
    const wrong = new Bench(`${passing} process.exitCode = 3;`);
    for (const [bench, detail] of [
      [late, "did not end within 1000 ms"],
      [empty, "the suite printed nothing"],
      [other, "the result lacks t"],
      [wrong, "ended with code 3"],
    ] as const) {
      bench.join("n1");
      await bench.until(() => bench.node("n1")?.qualification?.phase === "failed");
      expect(bench.node("n1")?.qualification?.detail).toContain(detail);
      expect(bench.calls()).toHaveLength(2);
    }
  });

  it("ends the command with its runner, before a further run begins", async () => {
    const bench = new Bench(
      `if (calls === 1) { appendFileSync(home + "/pid", String(process.pid)); await new Promise((done) => setTimeout(done, 600_000)); } ${passing}`,
    );
    bench.join("n1");
    await bench.until(() => bench.calls().length === 1);
    process.kill(bench.runner(), "SIGKILL");
    await bench.until(() => bench.node("n1")?.qualification === undefined);
    const pid = Number(readFileSync(path.join(bench.home, "pid"), "utf8"));
    expect(isAlive(pid)).toBe(false);
  });

  it("lets a node in whose pool loses its rule only when the run has ended", async () => {
    const bench = new Bench(
      `appendFileSync(home + "/pid", String(process.pid)); await new Promise((done) => setTimeout(done, 600_000));`,
    );
    bench.join("n1");
    await bench.until(() => existsSync(path.join(bench.home, "pid")));
    bench.pool(null);
    expect(bench.node("n1")?.qualification?.phase).toBe("running");
    await bench.until(() => bench.node("n1")?.qualification === undefined);
    const pid = Number(readFileSync(path.join(bench.home, "pid"), "utf8"));
    expect(isAlive(pid)).toBe(false);
  });

  it("judges by the tests that were declared when the run began", async () => {
    const bench = new Bench(
      `while (!existsSync(home + "/go")) await new Promise((done) => setTimeout(done, 20)); ${passing.replace('"t"', '"other"')}`,
    );
    bench.join("n1");
    await bench.until(() => bench.calls().length === 1);
    rmSync(path.join(bench.home, "qualifications.yaml"));
    writeFileSync(path.join(bench.home, "go"), "");
    await bench.until(() => bench.node("n1")?.qualification?.detail !== undefined);
    expect(bench.node("n1")?.qualification?.detail).toContain("lacks t");
  });

  it("names pools whose suite no executor can run", () => {
    const bench = new Bench(passing);
    const full = bench.pool({ ...rule, suite: "full" });
    expect(bench.service.problems(bench.engine, [full])).toEqual([
      expect.stringContaining("Pool h100 requires the suite full"),
    ]);
    expect(bench.service.problems(bench.engine, [bench.pool(rule), bench.pool(null)])).toEqual([]);
    const local = { ...full, name: poolName("here"), executor: "local", qualification: rule };
    expect(bench.service.problems(bench.engine, [local])).toEqual([]);
  });
});
