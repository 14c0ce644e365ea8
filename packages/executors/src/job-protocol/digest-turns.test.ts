import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { MadeArtifacts } from "../job-protocol/made-artifacts.ts";
import { digestTurns, DigestTurns, UploadTurns } from "./digest-turns.ts";

it("ends the reading of endless artifacts when it is closed, and registers them without a digest", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "headroom-turns-"));
  const endless = path.join(folder, "endless");
  writeFileSync(endless, "");
  truncateSync(endless, 2 ** 42);
  const made = new MadeArtifacts();
  made.take([{ name: "model:chat", path: endless }]);
  const turns = new DigestTurns(digestTurns);
  const readings = [1, 2, 3].map(() =>
    turns.run((signal) =>
      made.withDigests({ workingDir: folder, checkpointDir: folder, homeDir: "/nonexistent" }, signal),
    ),
  );
  turns.close();
  for (const reading of readings) expect(await reading).toEqual([{ name: "model:chat", path: endless }]);
  rmSync(folder, { recursive: true });
});

it("lets uploads to a store go on while many others do not answer, and ends all when it is closed", async () => {
  const turns = new UploadTurns({ atOnceMax: 2, timeoutMs: 60_000 });
  const stuck = (signal: AbortSignal): Promise<string> =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve("ended")));
  const waiting = Array.from({ length: 20 }, (_, store) => [1, 2, 3].map(() => turns.run(`silent-${store}`, stuck)));
  expect(await turns.run("lake", () => Promise.resolve("sent"))).toBe("sent");
  turns.close();
  for (const each of waiting) expect(await Promise.all(each.slice(0, 2))).toEqual(["ended", "ended"]);
  await expect(turns.run("lake", (signal) => Promise.resolve(signal.aborted))).resolves.toBe(true);
});
