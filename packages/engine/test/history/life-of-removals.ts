/** Part of the recorded journal: nodes, pools and sites leave the fleet, at once or after their work has ended. */
import { nodeId, poolName, siteName } from "@headroom/model";
import type { AttemptId } from "@headroom/model";
import type { Drive } from "../lab/drive.ts";
import { applied, command, node, pool } from "../lab/make.ts";
import { exited, running, submit } from "./life-lines.ts";

const annex = { name: siteName("annex"), fabricLevels: [] };
const old = { ...pool("P100"), site: annex.name };

const idOf = ({ engine }: Drive, type: string): AttemptId =>
  [...engine.state.attempts.values()].find(({ acceleratorType }) => acceleratorType === type)?.id as AttemptId;

/** A node leaves and joins again as another one. Another node, its pool and its site wait for work. */
export function beginRemovals(drive: Drive): void {
  drive.receive(
    applied({ sites: [annex], pools: [old] }),
    ...["n61", "n62", "n63"].map((id) => ({ kind: "nodeSeen", node: node(id, "P100", { fabric: [] }) }) as const),
  );
  drive.receive(command({ kind: "removeNode", nodeId: nodeId("n61"), running: "refuse" }, "key-remove"));
  drive.receive({ kind: "nodeSeen", node: node("n61", "P100", { fabric: [] }) });
  const gang = { accelerators: 8, workers: 1 };
  drive.receive(
    submit("in the way", { gang, acceleratorTypes: ["P100"], retries: { max: 9, backoffMs: 1, backoffMaxMs: 1 } }),
  );
  drive.receive(running(idOf(drive, "P100")));
  drive.receive(command({ kind: "removeNode", nodeId: nodeId("n62"), running: "requeue" }));
  drive.receive(command({ kind: "resumeNode", nodeId: nodeId("n62") }));
  drive.receive(command({ kind: "removeSite", site: annex.name, running: "requeue" }));
  drive.receive(applied({ sites: [annex], pools: [old] }));
  drive.receive(command({ kind: "removeSite", site: annex.name, running: "requeue" }));
}

/** The work has ended, and the site leaves with its pool. */
export function endRemovals(drive: Drive): void {
  drive.receive(exited(idOf(drive, "P100"), { kind: "signalled", worker: 0, signal: "SIGTERM" }));
  drive.receive(command({ kind: "removePool", pool: poolName("gone"), running: "refuse" }));
}
