/** Part of the recorded journal: nodes that have to qualify, with every outcome, and an order whose nodes do. */
import { nodeId } from "@headroom/model";
import type { Input, Pool } from "@headroom/model";
import type { Drive } from "../lab/drive.ts";
import { applied, command, node, pool, site } from "../lab/make.ts";

const TYPE = "L40S";
const RUN_MS = 60_000;
const proven: Pool = { ...pool(TYPE), qualification: { suite: "quick", limitMs: 180_000, atOnce: 2 } };

function started(drive: Drive, name: string): Input {
  const { id = 0, run = 0 } = drive.engine.state.nodes.get(nodeId(name))?.qualification ?? {};
  return { kind: "qualificationStarted", nodeId: nodeId(name), id, run: run + 1, expectedMs: RUN_MS };
}

function ended(drive: Drive, name: string, isPassed: boolean): Input {
  const { id = 0, run = 0 } = drive.engine.state.nodes.get(nodeId(name))?.qualification ?? {};
  const detail = isPassed ? "3 of 3 tests passed" : "the suite printed nothing";
  return { kind: "qualificationEnded", nodeId: nodeId(name), id, run, isPassed, detail, durationMs: RUN_MS };
}

/** One node passes and has to qualify again, one fails, one waits, and one runs the suite. */
export function beginQualifications(drive: Drive): void {
  drive.receive(applied({ sites: [site], pools: [proven] }));
  drive.receive({ kind: "nodeSeen", node: node("q1", TYPE) }, { kind: "nodeSeen", node: node("q2", TYPE) });
  drive.receive(started(drive, "q1"), started(drive, "q2"));
  drive.receive(ended(drive, "q1", true), ended(drive, "q2", false));
  drive.receive(started(drive, "q2"));
  drive.receive(ended(drive, "q2", false));
  drive.receive(command({ kind: "qualifyNode", nodeId: nodeId("q1") }));
  drive.receive(started(drive, "q1"));
  const shape = { acceleratorCount: 8, coresMilli: 8_000, memoryMib: 65_536 };
  const arrival = { kind: "leadTime", p50Ms: RUN_MS, p95Ms: RUN_MS } as const;
  const order = { name: "proven", pool: proven.name, nodeCount: 1, shape, arrival };
  drive.receive(command({ kind: "createCapacityOrder", order, phase: "arriving", reason: "" }));
  drive.receive({ kind: "nodeSeen", node: node("q3", TYPE) });
}

/** The order is in service when its node has passed; without the rule the others take work as they are. */
export function endQualifications(drive: Drive): void {
  drive.receive(started(drive, "q3"));
  drive.receive(ended(drive, "q3", true));
  drive.receive(ended(drive, "q1", false));
  drive.receive(applied({ sites: [site], pools: [pool(TYPE)] }));
  for (const name of ["q1", "q2", "q3"])
    drive.receive(command({ kind: "removeNode", nodeId: nodeId(name), running: "requeue" }));
}
