/**
 * The journal of a control plane with every kind of event and every variant of its fields. It is recorded once for each
 * version of the format (`record.ts`).
 */
import { attemptId, nodeId, presets, teamName, workloadId } from "@headroom/model";
import type { Policy, WorkloadChanges, WorkloadId } from "@headroom/model";
import type { JournalGroup } from "../../src/index.ts";
import { Drive } from "../lab/drive.ts";
import { applied, command, node, pool, site, spec, team } from "../lab/make.ts";
import { clearNode, plan, relabel, replace, save } from "./life-by-right.ts";
import { divide, foresee, keepTime, predict, register, report } from "./life-in-time.ts";
import { gather, heedNotice, keepData, keepHotSpares, makeWay, placeGroups } from "./life-of-nodes.ts";
import { beginArtifacts, endArtifacts } from "./life-of-artifacts.ts";
import { beginBursts, endBursts } from "./life-of-bursts.ts";
import {
  beginEndpoint,
  endEndpoint,
  followLoad,
  meterEndpoint,
  orderTypes,
  rollEndpointsOut,
  spendBudget,
} from "./life-of-endpoints.ts";
import { beginSilence, endSilence } from "./life-of-executors.ts";
import { beginOrders, endOrders } from "./life-of-orders.ts";
import { beginProposals, endProposals } from "./life-of-proposals.ts";
import {
  beginPipelines,
  dueClock,
  endPipelines,
  triggerByArtifact,
  triggerByFile,
  triggerByMetric,
} from "./life-of-pipelines.ts";
import { beginQualifications, endQualifications } from "./life-of-qualification.ts";
import { beginRemovals, endRemovals } from "./life-of-removals.ts";
import { code, exited, running, submit } from "./life-lines.ts";

export interface RecordedLife {
  readonly groups: readonly JournalGroup[];
  /** A snapshot from the middle, and the number of groups before it. */
  readonly snapshot: { readonly text: string; readonly groupCount: number };
  readonly digest: string;
}

export function recordLife(): RecordedLife {
  const drive = new Drive();
  build(drive);
  work(drive);
  beginRemovals(drive);
  beginOrders(drive);
  beginEndpoint(drive);
  beginSilence(drive);
  beginProposals(drive);
  beginArtifacts(drive);
  beginPipelines(drive);
  beginBursts(drive);
  triggerByFile(drive);
  triggerByMetric(drive);
  beginQualifications(drive);
  const snapshot = {
    text: new TextDecoder().decode(drive.engine.snapshot()),
    groupCount: drive.groups.length,
  };
  endQualifications(drive);
  endBursts(drive);
  endRemovals(drive);
  endOrders(drive);
  endSilence(drive);
  followLoad(drive);
  spendBudget(drive);
  rollEndpointsOut(drive);
  endPipelines(drive);
  endEndpoint(drive);
  endArtifacts(drive);
  suffer(drive);
  govern(drive);
  plan(drive);
  replace(drive);
  meterEndpoint(drive);
  orderTypes(drive);
  keepTime(drive);
  relabel(drive);
  save(drive);
  placeGroups(drive);
  gather(drive);
  keepData(drive);
  predict(drive);
  keepHotSpares(drive);
  foresee(drive);
  divide(drive);
  heedNotice(drive);
  makeWay(drive);
  clearNode(drive);
  runAgain(drive);
  changeInPlace(drive);
  report(drive);
  register(drive);
  enter(drive);
  stopTasks(drive);
  endProposals(drive);
  dueClock(drive);
  triggerByArtifact(drive);
  const groups = drive.groups.map(({ firstSequence, count, text, chain }) => ({ firstSequence, count, text, chain }));
  return { groups, snapshot, digest: drive.engine.digest() };
}

/** Fields of waiting and of running work change. */
function changeInPlace(drive: Drive): void {
  const free = { gang: { accelerators: 0, workers: 1 }, acceleratorTypes: [] };
  const idOf = (name: string): WorkloadId => {
    const found = [...drive.engine.state.workloads.values()].find(({ spec: each }) => each.name === name);
    if (found === undefined) throw new Error(`no workload ${name}`);
    return found.id;
  };
  drive.receive(
    submit("changes", { ...free, walltimeMs: 60_000, env: { A: "1", B: "2" } }),
    submit("changes later", { ...free, hold: true, notify: { to: ["ops"], on: ["end"] } }),
  );
  const secrets = { env: { TOKEN: "hub/token" }, envFrom: ["metrics"], pull: ["registry"] };
  drive.receive(submit("in an image", { ...free, image: "localhost/train:1", secrets }));
  drive.receive(running(`${idOf("changes")}.1`));
  const change = (name: string, changes: WorkloadChanges): void => {
    drive.receive(command({ kind: "changeWorkload", workloadId: idOf(name), changes }));
  };
  change("changes", {
    walltimeMs: null,
    priority: 7,
    env: { A: null, C: "3" },
    retries: { max: 0, backoffMs: 1, backoffMaxMs: 1 },
  });
  change("changes later", { workers: 2, minWorkers: 1, after: [{ workload: "changes", on: "ok" }], notBeforeMs: 1 });
  change("changes later", { name: "changed", notBeforeMs: null, hold: false, notify: null, minWorkers: null });
  drive.receive(exited(`${idOf("changes")}.1`, code(0, 0)));
  drive.receive(exited(`${idOf("changed")}.1`, code(0, 0), code(1, 0)));
}

/** A user runs a command inside running work. */
function enter(drive: Drive): void {
  drive.receive(submit("entered", { gang: { accelerators: 0, workers: 1 }, acceleratorTypes: [] }));
  const entered = [...drive.engine.state.workloads.values()].find(({ spec: { name } }) => name === "entered");
  if (entered === undefined) throw new Error("no workload entered");
  drive.receive(running(`${entered.id}.1`));
  const request = { kind: "startExec", workloadId: entered.id, task: null, worker: 0, terminal: true } as const;
  drive.receive(command({ ...request, run: "nvidia-smi -L" }));
  drive.receive(exited(`${entered.id}.1`, code(0, 0)));
}

/** Tasks of an array are stopped: one that runs, one that has not started, and the next one. */
function stopTasks(drive: Drive): void {
  const gang = { accelerators: 8, workers: 1 };
  drive.receive(applied({ pools: [pool("S100")] }), { kind: "nodeSeen", node: node("n20", "S100") });
  drive.receive(submit("stops", { gang, acceleratorTypes: ["S100"], taskCount: 5 }));
  const stops = [...drive.engine.state.workloads.values()].find(({ spec: { name } }) => name === "stops");
  if (stops === undefined) throw new Error("no workload stops");
  const workloadId = stops.id;
  drive.receive(running(`${workloadId}.0.1`));
  for (const task of [3, 1, 0]) drive.receive(command({ kind: "stopTask", workloadId, task }));
  drive.receive(exited(`${workloadId}.0.1`, { kind: "signalled", worker: 0, signal: "SIGTERM" }));
  drive.receive(exited(`${workloadId}.2.1`, code(0, 0)));
  drive.receive(exited(`${workloadId}.4.1`, code(0, 0)));
}

/** Reruns ended work; for an array, the tasks that were given up. */
function runAgain(drive: Drive): void {
  const free = { gang: { accelerators: 0, workers: 1 }, acceleratorTypes: [] };
  drive.receive(submit("again", { ...free, taskCount: 2 }));
  const again = [...drive.engine.state.workloads.values()].find(({ spec: { name } }) => name === "again");
  if (again === undefined) throw new Error("no workload again");
  drive.receive(exited(`${again.id}.0.1`, code(0, 0)), exited(`${again.id}.1.1`, code(0, 1)));
  drive.receive(command({ kind: "rerunWorkload", workloadId: again.id }));
  drive.receive(exited(`${again.id}.1.2`, code(0, 0)));
  const policy = { ...(presets.get("fifo-skip") as Policy), retryInPlaceMs: 60_000 };
  drive.receive(command({ kind: "setPolicy", policy }));
  drive.receive(submit("stays", { ...free, retries: { max: 1, backoffMs: 100, backoffMaxMs: 100 } }));
  const stays = [...drive.engine.state.workloads.values()].find(({ spec: { name } }) => name === "stays");
  drive.receive(running(`${stays?.id}.1`));
  drive.receive(exited(`${stays?.id}.1`, code(0, 1)));
  drive.passTo(drive.nowMs + 200);
  drive.receive({ kind: "tick" });
  drive.receive(exited(`${stays?.id}.2`, code(0, 0)));
}

function build(drive: Drive): void {
  drive.nowMs = 1_000;
  drive.receive(
    applied({
      sites: [site],
      pools: [pool("H100"), pool("A100"), pool("")],
      teams: [team("forschung"), team("forschung/nlp", "forschung", { H100: 12, A100: 4 }), team("原型", null, {})],
      workloads: [
        spec("applied", { team: "forschung/nlp", gang: { accelerators: 2 }, env: { LANG: "C.UTF-8", B: "" } }),
      ],
    }),
  );
  drive.receive(
    { kind: "nodeSeen", node: node("n1", "H100") },
    { kind: "nodeSeen", node: node("n2", "H100") },
    { kind: "nodeSeen", node: node("n3", "A100", { acceleratorCount: 40 }) },
    { kind: "nodeSeen", node: node("n4", "", { acceleratorCount: 0 }) },
  );
}

/** Work that succeeds, or fails by its own fault. */
function work(drive: Drive): void {
  const gang = { workers: 2, accelerators: 4, coresMilli: 1500, memoryMib: 2048 };
  const retries = { max: 2, backoffMs: 100, backoffMaxMs: 150 };
  drive.nowMs = 2_000;
  drive.receive(submit("gang", { gang, acceleratorTypes: ["H100", "A100"], walltimeMs: 5_000, priority: 3 }, "key-1"));
  drive.receive(submit("array", { gang: { accelerators: 0 }, taskCount: 3, retries }));
  drive.receive(running("w1.1"), running("w2.1"), running("w3.0.1"), running("w3.1.1"));
  drive.receive(
    {
      kind: "progressReported",
      attemptId: attemptId("w2.1"),
      step: 1,
      totalSteps: 10,
      metrics: { loss: 2.5, tokens: 7 },
    },
    { kind: "progressReported", attemptId: attemptId("w1.1"), step: 3, totalSteps: null, metrics: {} },
    { kind: "checkpointReported", attemptId: attemptId("w2.1"), step: 1, path: "/ckpt/ünï/step-1" },
  );
  drive.nowMs = 2_500;
  drive.receive(exited("w3.0.1", code(0, 0)), exited("w3.1.1", code(0, 7)));
  drive.receive(exited("w1.1", { kind: "signalled", worker: 0, signal: "SIGSEGV" }));
  drive.nowMs = 2_600;
  drive.receive({ kind: "tick" });
  drive.receive(exited("w3.1.2", code(0, 7)), {
    kind: "attemptLost",
    attemptId: attemptId("w3.2.1"),
    detail: "no such directory",
  });
  drive.passTo(2_800);
  drive.receive(exited("w3.1.3", code(0, 7)));
  drive.passTo(4_000);
  drive.receive(exited("w3.2.2", code(0, 0)));
}

/** Walltimes, cancellations, drains and lost nodes. */
function suffer(drive: Drive): void {
  drive.passTo(7_000);
  drive.receive({ kind: "tick" });
  drive.receive(exited("w2.1", code(1, 143), code(0, 143)));
  const retries = { max: 1, backoffMs: 50, backoffMaxMs: 50 };
  const whole = { accelerators: 8 };
  drive.receive(submit("migrated", { gang: whole, acceleratorTypes: ["H100"], retries }));
  drive.receive(submit("hit", { gang: { workers: 2, accelerators: 8 }, acceleratorTypes: ["A100"], retries }));
  drive.receive(
    submit("cancelled", { gang: whole, acceleratorTypes: ["H100"] }),
    submit("waits", { gang: { accelerators: 41 } }),
  );
  drive.receive(running("w4.1"), running("w5.1"), running("w6.1"));
  drive.receive(command({ kind: "stopWorkload", workloadId: workloadId("w6") }));
  drive.receive(command({ kind: "stopWorkload", workloadId: workloadId("w7") }, "key-2"));
  drive.receive(command({ kind: "drainNode", nodeId: nodeId("n1"), running: "requeue" }));
  drive.receive({ kind: "nodeUnreachable", nodeId: nodeId("n3"), detail: "no heartbeat for 30 s" });
  drive.nowMs = 7_500;
  drive.receive(exited("w4.1", code(0, 0)), exited("w6.1", { kind: "signalled", worker: 0, signal: "SIGKILL" }));
  drive.receive({ kind: "nodeSeen", node: node("n3", "A100", { acceleratorCount: 16 }) });
  drive.receive(command({ kind: "resumeNode", nodeId: nodeId("n1") }));
  drive.receive(submit("two nodes", { gang: { workers: 2, accelerators: 6 }, acceleratorTypes: ["H100"] }));
  drive.passTo(8_000);
  drive.receive({ kind: "tick" });
  drive.receive(exited("w4.2", code(0, 0)));
  drive.receive({ kind: "nodeUnreachable", nodeId: nodeId("n2"), detail: "power" });
}

/** Teams and policies change while work runs and waits. */
function govern(drive: Drive): void {
  for (const [name, policy] of presets) {
    drive.nowMs += 10;
    drive.receive(
      command({ kind: "setPolicy", policy: { ...policy, name: `${name}, rejecting`, exceedsFleet: "reject" } }),
    );
  }
  drive.receive(applied({ teams: [team("forschung/nlp", "原型", { H100: 2 })] }));
  drive.receive(submit("limited", { team: "forschung/nlp", gang: { accelerators: 3 }, acceleratorTypes: ["H100"] }));
  drive.receive(command({ kind: "removeTeam", team: teamName("forschung") }, "key-3"));
  drive.receive({ kind: "tick" });
}
