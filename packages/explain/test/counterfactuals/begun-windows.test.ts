import { describe, expect, it } from "vitest";
import { nodeId } from "@headroom/model";
import type { CalendarEntry } from "@headroom/model";
import { Drive, applied, command, node, pool, site, spec } from "@headroom/engine/testing";
import { smallestChanges } from "../../src/index.ts";

const MINUTE_MS = 60_000;

/** A node with a maintenance window from the second minute on, and work that would run into the window. */
function beforeMaintenance(): Drive {
  const drive = new Drive();
  const entry: CalendarEntry = {
    kind: "maintenance",
    name: "firmware",
    nodes: [nodeId("n1")],
    startMs: 2 * MINUTE_MS,
    endMs: 60 * MINUTE_MS,
  };
  drive.receive(applied({ sites: [site], pools: [pool("H100")] }));
  drive.receive({ kind: "nodeSeen", node: node("n1", "H100") });
  drive.receive(applied({ calendar: [entry] }));
  const waiting = spec("long", { walltimeMs: 10 * MINUTE_MS });
  drive.receive(command({ kind: "submitWorkload", spec: waiting }));
  return drive;
}

const kindsFor = ({ engine }: Drive): readonly string[] => {
  const [id] = [...engine.state.workloads.keys()];
  return smallestChanges(engine, id!).map(({ change }) => change.kind);
};

describe("a window in the way", () => {
  it("is offered later while it has not begun, and never afterwards", () => {
    const drive = beforeMaintenance();
    expect(kindsFor(drive)).toContain("laterWindow");
    drive.passTo(2 * MINUTE_MS + 1);
    expect(kindsFor(drive)).not.toContain("laterWindow");
  });
});
