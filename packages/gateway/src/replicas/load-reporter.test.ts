import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { LoadReporter } from "./load-reporter.ts";

it.each([
  { release: "before measured times", refused: ["times"], forms: ["tokens times", "tokens", "tokens"] },
  { release: "before tokens", refused: ["times", "tokens"], forms: ["tokens times", "tokens", "", ""] },
  {
    release: "before tokens, when an overflow ends",
    refused: ["times", "tokens"],
    forms: ["tokens times", "tokens times", "tokens", "", ""],
    overflow: { targets: {} },
  },
])("reports what a control plane of a release $release takes", async ({ refused, forms, overflow }) => {
  const folder = mkdtempSync(path.join(tmpdir(), "headroom-reporter-"));
  const token = path.join(folder, "token");
  writeFileSync(token, "secret\n");
  const sent: string[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (part: Buffer) => (text += part.toString()));
    request.on("end", () => {
      const fields = ["tokens", "times"].filter((field) => text.includes(`"${field}"`));
      sent.push(fields.join(" "));
      response.writeHead(fields.some((field) => refused.includes(field)) ? 400 : 200).end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  let requests = 0;
  const logged: string[] = [];
  const reporter = new LoadReporter({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: { file: token },
    gateway: "g",
    startedAtMs: 0,
    signal: new AbortController().signal,
    load: () => ({
      requests: (requests += 1),
      running: 0,
      held: 0,
      idleMs: 0,
      queued: null,
      kvUsage: null,
      ttft: null,
      tpot: null,
      ...(overflow !== undefined && requests === 1 ? { overflow: overflow as never } : {}),
      tokens: { prompt: 10, output: 2, ended: 1, promptTokenMs: 0.5 },
      replicas: [{ address: "h:1", requests: 0, times: { tokenMs: 8, promptMs: 60, workMs: 400 } }],
    }),
    log: (line) => logged.push(line),
  });
  const endpoint = { workloadId: "w1", isAutoscaled: true, pools: ["p"] };
  await reporter.report([endpoint]);
  await reporter.report([endpoint]);
  expect(sent).toEqual(forms);
  expect(logged).toEqual([]);
  server.close();
  rmSync(folder, { recursive: true });
});
