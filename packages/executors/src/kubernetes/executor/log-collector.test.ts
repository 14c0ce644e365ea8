/** Logs of pods of work with a data rule. The kubelet is a stream of lines. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, it } from "vitest";
import { LogCollector } from "./log-collector.ts";
import type { CollectorSetup } from "./log-collector.ts";

let dir = "";
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), "headroom-pod-log-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

const LINES = [
  '2026-11-30T08:00:00.000000001Z {"kind":"progress","step":1}',
  "2026-11-30T08:00:00.000000002Z a line with restricted data",
];

async function collect(rule: string | null): Promise<{ readonly log: string; readonly reports: string }> {
  const logs = () =>
    Promise.resolve(Object.assign(Readable.from([Buffer.from(`${LINES.join("\n")}\n`)]), { complete: true }));
  const progressFile = path.join(dir, "progress.jsonl");
  const setup = {
    api: { logs },
    namespace: "ml",
    pod: "hr-w1",
    container: "worker",
    workerDir: dir,
    rule,
    progressFile,
  };
  const limits = { fileMaxBytes: 65_536, filesKept: 3 };
  const collector = new LogCollector({ ...setup, limits } as unknown as CollectorSetup);
  await collector.drain();
  const files = readdirSync(dir).filter((name) => name.startsWith("stdout") && !name.endsWith(".json"));
  return {
    log: files.map((name) => readFileSync(path.join(dir, name), "latin1")).join(""),
    reports: readFileSync(progressFile, "utf8"),
  };
}

it("keeps the lines of work without a rule", async () => {
  const { log, reports } = await collect(null);
  expect(log).toContain("a line with restricted data");
  expect(reports).toContain('"step":1');
});

it("leaves the lines of work with a rule in the cluster, says where, once, and takes its reports", async () => {
  await collect("restricted");
  const { log, reports } = await collect("restricted");
  expect(log).not.toContain("a line with");
  expect(log.match(/kubectl logs -n ml hr-w1/g)).toHaveLength(1);
  expect(reports).toContain('"step":1');
});
