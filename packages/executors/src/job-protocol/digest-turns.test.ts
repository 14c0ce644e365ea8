import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { MadeArtifacts } from "../job-protocol/made-artifacts.ts";
import { digestTurns, DigestTurns } from "./digest-turns.ts";

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
