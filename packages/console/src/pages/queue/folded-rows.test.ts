import type { QueueEntry } from "@headroom/protocol";
import { describe, expect, it } from "vitest";
import { foldedRows } from "./folded-rows.ts";

const entry = (id: string, sentence: string, kind = "acceleratorShortfall"): QueueEntry =>
  ({
    position: 0,
    workload: { id, team: "a", actor: "ada", gang: { workers: 1 } },
    reason: { kind, sentence },
  }) as unknown as QueueEntry;

const listed = [entry("w1", "x"), entry("w2", "x"), entry("w3", "x"), entry("w4", "y"), entry("w5", "y")].map(
  (each, index) => ({ entry: each, index }),
);

describe("folding the queue", () => {
  it("folds three and more neighbours with the same reason, and opens them again", () => {
    const folded = foldedRows(listed, new Set());
    expect(folded.map((row) => [row.entry.workload.id, row.alike.length])).toEqual([
      ["w1", 2],
      ["w4", 0],
      ["w5", 0],
    ]);
    expect(foldedRows(listed, new Set(["w1"])).map((row) => row.entry.workload.id)).toEqual([
      "w1",
      "w2",
      "w3",
      "w4",
      "w5",
    ]);
  });
});
