import { mkdtempSync, readFileSync, rmSync, writeFileSync, existsSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { commandId, workloadId } from "@headroom/model";
import type { Input } from "@headroom/model";
import { deathsText, StartMarker } from "./start-marker.ts";

let home = "";
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), "headroom-marker-"));
});
afterEach(() => rmSync(home, { recursive: true }));

const stop: Input = {
  kind: "stopWorkload",
  commandId: commandId("1"),
  workloadId: workloadId("w7"),
  actor: "ann",
  idempotencyKey: null,
};
const marker = (): StartMarker => new StartMarker(home, () => 0);
const file = (): string => path.join(home, "running.json");

/** A process that decides at this event and dies; returns what it knew of earlier deaths. */
function dies(sequence: number, inputs: readonly Input[] = [{ kind: "tick" }]): string | null {
  const own = marker();
  const text = deathsText(own.begin());
  own.idle(sequence);
  own.deciding(sequence, inputs);
  return text;
}

describe("a start marker", () => {
  it("tells the second death at one place, with the newest command", () => {
    expect(dies(10, [stop])).toBeNull();
    expect(dies(12)).toBeNull();
    expect(dies(13)).toBe(
      'The control plane ended 2 times in a row without an orderly stop near event 12 of its journal, last at 1970-01-01T00:00:00.000Z, while it decided a round. The newest command before was stopWorkload "w7" by ann. If it ends again, start it with `headroom up --safe`: it then decides and launches nothing, but workloads can be stopped. Stop the workload of that command, and start it without --safe.',
    );
    expect(dies(13)).toContain("3 times");
  });

  it("tells deaths while the journal is read", () => {
    for (let time = 0; time < 3; time++) marker().begin();
    expect(deathsText(marker().begin())).toContain("--max-old-space-size");
  });

  it("counts from one again after deaths far apart, after a wait for input, and after an orderly stop", () => {
    for (const sequence of [0, 100_000, 0, 100_000]) expect(dies(sequence)).toBeNull();
    dies(100_001);
    const waiting = marker();
    expect(deathsText(waiting.begin())).not.toBeNull();
    waiting.idle(1);
    expect(deathsText(marker().begin())).toBeNull();
    dies(5);
    const orderly = marker();
    orderly.begin();
    orderly.end(true);
    expect(existsSync(file())).toBe(false);
    expect(marker().begin()).toBeNull();
  });

  it("is put back by a start that fails in order, and ignores damage", () => {
    dies(5);
    const before = readFileSync(file(), "utf8");
    const failed = marker();
    failed.begin();
    failed.end(false);
    expect(readFileSync(file(), "utf8")).toBe(before);
    for (const damage of ["", "null", "[]", '{"stage":"deciding"}', "\0".repeat(2_048)]) {
      writeFileSync(file(), damage);
      expect(marker().begin()).toBeNull();
    }
  });

  it("holds texts of any length and script in one record", () => {
    dies(5, [{ ...stop, actor: "\u{1F600}\n".repeat(5_000) }]);
    const { earlier } = (() => {
      const own = marker();
      own.begin();
      return own;
    })();
    expect(earlier?.last.sequence).toBe(5);
  });
});
