/** Secrets of gateway.yaml, and the addresses at which one is needed. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { MockUpstream } from "../testing/mock-upstream.ts";
import { chat, testGateway } from "../testing/test-gateway.ts";
import { loadConfig } from "./load.ts";
import { referenceProblems } from "./references.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const rest = 'access: open\npools: [{ name: p, replicas: ["http://a:1"] }]\nmodels: [{ name: m, pools: [p] }]\n';

/** Messages about the configuration, also about the files and variables that it names. */
function problemsOf(yaml: string): string[] {
  const loaded = loadConfig(yaml + rest);
  const problems = "problems" in loaded ? loaded.problems : referenceProblems(loaded);
  return problems.map(({ line, message }) => `${line} ${message}`);
}

function secretFile(mode: number): string {
  const folder = mkdtempSync(path.join(tmpdir(), "headroom-secret-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, "secret");
  writeFileSync(file, "abc\n");
  chmodSync(file, mode);
  return file;
}

describe("the secret of gateways that share limits", () => {
  it("may be in a file that no other user can read or write", () => {
    const yaml = (file: string): string => `coordinator: 127.0.0.1:1\ncoordinatorSecret: { file: ${file} }\n`;
    for (const mode of [0o600, 0o400, 0o700]) expect(problemsOf(yaml(secretFile(mode)))).toEqual([]);
    for (const mode of [0o644, 0o660, 0o602, 0o640])
      expect(problemsOf(yaml(secretFile(mode)))).toEqual([expect.stringMatching(/^2 coordinatorSecret .*chmod 600/)]);
  });

  it("may be in a variable, and not in gateway.yaml", () => {
    vi.stubEnv("GATEWAY_SECRET", "abc");
    expect(problemsOf("coordinator: 127.0.0.1:1\ncoordinatorSecret: { env: GATEWAY_SECRET }\n")).toEqual([]);
    expect(problemsOf("coordinatorSecret: { env: HEADROOM_NONE }\n")).toEqual([
      expect.stringContaining("HEADROOM_NONE"),
    ]);
    const [literal] = problemsOf("coordinatorSecret: abc-in-clear\n");
    expect(literal).toContain("secrets are not written into this file");
    expect(literal).not.toContain("abc-in-clear");
  });

  it("and the operator's word are needed beyond this machine", () => {
    vi.stubEnv("GATEWAY_SECRET", "abc");
    const secret = "coordinatorSecret: { env: GATEWAY_SECRET }\n";
    const permission = "coordinatorOverNetwork: true\n";
    for (const local of ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1"])
      expect(problemsOf(`coordinator: "${local}"\n`)).toEqual([]);
    for (const remote of ["10.0.0.5:1", "0.0.0.0:1", "[::]:1", "gateway.internal:1"]) {
      const yaml = `coordinator: "${remote}"\n`;
      expect(problemsOf(yaml)).toEqual([expect.stringMatching(/coordinatorSecret and coordinatorOverNetwork/)]);
      expect(problemsOf(yaml + secret)).toEqual([expect.stringMatching(/also set coordinatorOverNetwork: true/)]);
      expect(problemsOf(yaml + permission)).toEqual([expect.stringMatching(/also set coordinatorSecret$/)]);
      expect(problemsOf(yaml + secret + permission)).toEqual([]);
    }
  });
});

describe("headers for the collector of traces", () => {
  it("may come from variables and files", async () => {
    vi.stubEnv("COLLECTOR_TOKEN", "Bearer abc");
    vi.stubEnv("COLLECTOR_SCOPE", "one two");
    let seen: unknown[] = [];
    const collector = createServer((request, response) => {
      request.resume();
      seen = [request.headers.authorization, request.headers["x-scope"], request.headers["x-key"]];
      response.end("{}");
    });
    await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
    cleanups.push(() => collector.close());
    const { port } = collector.address() as AddressInfo;
    const mock = new MockUpstream();
    await mock.start();
    cleanups.push(() => mock.kill());
    const headers = `{ authorization: { env: COLLECTOR_TOKEN }, x-scope: { env: COLLECTOR_SCOPE }, x-key: { file: ${secretFile(0o644)} } }`;
    const gateway = await testGateway(
      `access: open\npools: [{ name: p, engine: vllm, replicas: [${mock.url}] }]\nmodels: [{ name: m, pools: [p] }]\n` +
        `tracing: { endpoint: "http://127.0.0.1:${port}", headers: ${headers} }\n`,
    );
    cleanups.push(() => gateway.stop());
    expect((await chat(gateway.url, {})).status).toBe(200);
    await expect.poll(() => seen).toEqual(["Bearer abc", "one two", "abc"]);
  });

  it("are checked with their place", () => {
    expect(
      problemsOf("tracing:\n  endpoint: http://c:1\n  headers:\n    authorization: { env: HEADROOM_NONE }\n"),
    ).toEqual([expect.stringMatching(/^4 tracing\.headers\.authorization .*HEADROOM_NONE/)]);
    expect(problemsOf("tracing:\n  endpoint: http://c:1\n  headers:\n    authorization: Bearer abc\n")).toEqual([
      expect.stringMatching(/^4 tracing\.headers\.authorization .*secrets are not written into this file/),
    ]);
  });
});
