import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { attemptId } from "@headroom/model";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ProgressFile } from "./progress-file.ts";

let dir: string;
let file: string;
let progress: ProgressFile;

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), "headroom-progress-"));
  file = path.join(dir, "progress.jsonl");
  progress = new ProgressFile(file, {
    attemptId: attemptId("a"),
    checkpointDir: "s3://bucket/run/",
    workingDir: "/shelf",
    workerCount: 1,
  });
});
afterEach(() => rmSync(dir, { recursive: true }));

const step = (number: number): string => `${JSON.stringify({ kind: "progress", step: number })}\n`;

describe("the progress file", () => {
  it("may be missing, may grow, and is told once", async () => {
    expect(progress.hasGrown()).toBe(false);
    expect((await progress.read()).progress).toBeNull();
    writeFileSync(file, step(1) + step(2));
    expect(progress.hasGrown()).toBe(true);
    expect((await progress.read()).progress).toMatchObject({ step: 2, totalSteps: null, metrics: {} });
    expect(progress.hasGrown()).toBe(false);
    expect((await progress.read()).progress).toBeNull();
  });

  it("waits for the end of a line, wherever the line is cut", async () => {
    const text = `{"kind":"progress","step":7,"metrics":{"größe":1.5}}\n`;
    const bytes = Buffer.from(text);
    for (let cut = 1; cut < bytes.length; cut++) {
      appendFileSync(file, bytes.subarray(0, cut));
      expect((await progress.read()).progress).toBeNull();
      appendFileSync(file, bytes.subarray(cut));
      expect((await progress.read()).progress).toMatchObject({ step: 7, metrics: { größe: 1.5 } });
    }
    expect(progress.skippedCount).toBe(0);
  });

  it("tells what was produced, below the working directory where it is no path of its own", async () => {
    const lines = [
      `{"kind":"artifact","name":"model","path":"out/m","metrics":{"loss":1.5}}`,
      `{"kind":"artifact","name":"report","path":"s3://b/r"}`,
      `{"kind":"artifact","name":"accuracy","path":"data:,0.93"}`,
    ];
    writeFileSync(file, `${lines.join("\n")}\n`);
    expect((await progress.read()).artifacts).toEqual([
      { name: "model", path: "/shelf/out/m", metrics: { loss: 1.5 } },
      { name: "report", path: "s3://b/r" },
      { name: "accuracy", path: "data:,0.93" },
    ]);
  });

  it("reads step times of workers, with the parts that they state", async () => {
    const lines = [
      `{"kind":"step","worker":3,"step":7,"seconds":0.9}`,
      `{"kind":"step","step":8,"seconds":1,"parts":{"compute":0.6,"input":0.2}}`,
    ];
    writeFileSync(file, `${lines.join("\n")}\n`);
    const { stepTimes } = await progress.read();
    expect(stepTimes?.times).toEqual([
      [7, 3, 0.9],
      [8, 0, 1, { compute: 0.6, input: 0.2 }],
    ]);
  });

  it("counts what it cannot read and goes on behind it", async () => {
    const broken = [
      "{",
      `{"kind":"other","step":1}`,
      `{"kind":"progress","step":1.5}`,
      `{"kind":"progress","step":1e300}`,
      `{"kind":"progress","step":1,"metrics":{"loss":"low"}}`,
      `{"kind":"checkpoint","step":1}`,
      `{"kind":"step","step":1,"seconds":1,"parts":{${Array.from({ length: 9 }, (_, n) => `"p${n}":1`).join(",")}}}`,
      `{"kind":"progress","step":1,"metrics":{${Array.from({ length: 33 }, (_, n) => `"m${n}":1`).join(",")}}}`,
      `"${"x".repeat(200_000)}"`,
    ];
    writeFileSync(file, `${broken.join("\n")}\n\n${step(3)}`);
    expect((await progress.read()).progress).toMatchObject({ step: 3 });
    expect(progress.skippedCount).toBe(broken.length);
  });

  it("tells the author what is wrong with a line, and what is expected", async () => {
    const broken = [
      `{"kind":"progress","step":1,"metrics":{"loss":NaN}}`,
      `loss=2.31 \u001b[31mred`,
      `{"kind":"checkpoint","step":1}`,
      `{"kind":"other","step":1,"worker":3}`,
      `[1]`,
      `{"kind":"progress","step":"7"}`,
      `{"kind":"progress","step":"8"}`,
    ];
    writeFileSync(file, `${broken.join("\n")}\n`);
    const { rejected } = await progress.read();
    expect(rejected).toMatchObject({ kind: "linesRejected", attemptId: "a", count: 7 });
    expect(rejected?.faults.map(({ problem, worker, count }) => [problem, worker, count])).toEqual([
      ["not JSON: NaN and Infinity are not numbers of JSON; leave the metric out", 0, 1],
      ["not JSON", 0, 1],
      ["path: expected string, received undefined", 0, 1],
      ["kind: expected progress, step, utilization, checkpoint or artifact", 3, 1],
      ["not a JSON object", 0, 1],
      ["step: expected number, received string", 0, 2],
    ]);
    expect(rejected?.faults[1]?.line).toBe("loss=2.31 ·[31mred");
    expect(rejected?.faults[2]?.expected).toBe('{"kind":"checkpoint","step":500,"path":"step-500"}');
    expect((await progress.read()).rejected).toBeNull();
  });

  it("keeps eight problems and short lines of a worker that writes a million bad ones", async () => {
    const kinds = Array.from({ length: 30 }, (_, n) => `{"kind":"progress","step":1,"metrics":{"m${n}":"x"}}\n`);
    writeFileSync(file, `${kinds.join("")}${"x".repeat(4_000)}\n${"bad\n".repeat(1_000_000)}${step(5)}`);
    const news = [];
    while (progress.hasGrown()) news.push(await progress.read());
    expect(news.at(-1)?.progress).toMatchObject({ step: 5 });
    const rejected = news.findLast((each) => each.rejected !== null)?.rejected;
    expect(rejected).toMatchObject({ count: 1_000_031 });
    expect(rejected?.faults).toHaveLength(8);
    expect(JSON.stringify(rejected).length).toBeLessThan(8_000);
  });

  it("names no worker where several share the file and the line names none", async () => {
    const shared = new ProgressFile(file, {
      attemptId: attemptId("a"),
      checkpointDir: "/c",
      workingDir: "/w",
      workerCount: 2,
    });
    writeFileSync(file, "x\n");
    expect((await shared.read()).rejected?.faults[0]?.worker).toBeNull();
  });

  it("reads a file that was begun anew from its beginning", async () => {
    writeFileSync(file, step(100_000));
    await progress.read();
    writeFileSync(file, step(1));
    expect((await progress.read()).progress).toMatchObject({ step: 1 });
  });

  it("passes over the old part of a long file, and over the line which that cuts", async () => {
    let text = "";
    let last = 0;
    while (text.length < 3_000_000) text += step(++last);
    writeFileSync(file, text);
    progress.skipToRecent();
    const news = [];
    while (progress.hasGrown()) news.push(await progress.read());
    expect(news.at(-1)?.progress).toMatchObject({ step: last });
    expect(news.length).toBeLessThanOrEqual(2);
    expect(progress.skippedCount).toBe(0);
  });

  it("puts relative checkpoints into the checkpoint directory, which may be a URL", async () => {
    const checkpoint = (place: string): string => `${JSON.stringify({ kind: "checkpoint", step: 1, path: place })}\n`;
    writeFileSync(file, ["step-1", "./step-2", "/abs/step-3", "gs://other/step-4"].map(checkpoint).join(""));
    const { checkpoints } = await progress.read();
    expect(checkpoints.map((told) => told.path)).toEqual([
      "s3://bucket/run/step-1",
      "s3://bucket/run/step-2",
      "/abs/step-3",
      "gs://other/step-4",
    ]);
  });
});

describe("the use of accelerators in it", () => {
  const line = (worker: number | undefined, ...accelerators: readonly object[]): string =>
    `${JSON.stringify({ kind: "utilization", worker, accelerators })}\n`;

  it("is added up over the workers, each as it last reported, and told only anew", async () => {
    writeFileSync(file, line(0, { busy: 0.9, memoryMib: 100, capacityMib: 800 }, { busy: 0.01 }) + step(1));
    const first = await progress.read();
    expect(first.utilization).toEqual({
      kind: "utilizationReported",
      attemptId: "a",
      accelerators: 2,
      busyAccelerators: 1,
      busyMilli: 455,
      peakMemoryMib: 100,
      capacityMib: 800,
    });
    appendFileSync(file, line(1, { busy: 1, memoryMib: 700 }) + line(0, { busy: 0 }, { busy: 0 }));
    expect((await progress.read()).utilization).toMatchObject({
      accelerators: 3,
      busyAccelerators: 1,
      busyMilli: 333,
      peakMemoryMib: 700,
      capacityMib: null,
    });
    appendFileSync(file, step(2));
    expect((await progress.read()).utilization).toBeNull();
  });

  it("is not believed where it cannot be so", async () => {
    writeFileSync(file, line(undefined, { busy: 1.5 }) + line(0) + line(-1, { busy: 1 }));
    expect((await progress.read()).utilization).toBeNull();
    expect(progress.skippedCount).toBe(3);
  });
});
