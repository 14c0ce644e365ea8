/** Nodes of the fleet: readings, closing and opening, and notices. */
import { factsOfNode, nodeDifferences } from "@headroom/health";
import type { Node, NodeId } from "@headroom/model";
import { refuse } from "@headroom/protocol";
import type { ProblemError } from "@headroom/protocol";
import { nodeList, nodeView } from "@headroom/views";
import { command, found } from "./calls.ts";
import type { Answer, Handlers } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";
import { nodeTelemetry } from "./node-telemetry.ts";
import { removeNode } from "./remove-fleet.ts";

type NodeOperation =
  | "listNodes"
  | "getNode"
  | "acceleratorReadings"
  | "nodeTelemetry"
  | "drainNode"
  | "resumeNode"
  | "qualifyNode"
  | "nodeQualification"
  | "removeNode"
  | "noticeNode"
  | "withdrawNotice";

const noNode = (id: string): ProblemError => refuse("unknownNode", `There is no node ${id}.`);

export const nodeHandlers: Pick<Handlers, NodeOperation> = {
  listNodes: ({ driver }, { query }) => driver.read((engine) => nodeList(engine, query)),
  getNode: (plane, { params: { id } }) => found(plane, (engine) => nodeView(engine, id), noNode(id)),
  acceleratorReadings: ({ driver, accelerators }, { query }) =>
    driver.read((engine) => accelerators.readings.page(engine, query)),
  nodeTelemetry: (plane, { params: { id }, query }) => nodeTelemetry(plane, id, query),
  drainNode: async (plane, call) => {
    const wanted = { kind: "drainNode", nodeId: call.params.id as NodeId, running: call.body.running } as const;
    const { nodeId } = await command(plane, call, wanted, "nodeDraining");
    return { nodeId };
  },
  resumeNode: async (plane, call) => {
    const wanted = { kind: "resumeNode", nodeId: call.params.id as NodeId } as const;
    const { nodeId } = await command(plane, call, wanted, "nodeResumed");
    return { nodeId };
  },
  qualifyNode: async (plane, call) => {
    const wanted = { kind: "qualifyNode", nodeId: call.params.id as NodeId } as const;
    const { nodeId } = await command(plane, call, wanted, "nodeQualifying");
    return { nodeId };
  },
  nodeQualification: async (plane, { params: { id } }) => {
    const known = await found(plane, (engine) => nodeView(engine, id), noNode(id));
    const result = plane.qualifications.resultOf(id);
    return {
      nodeId: id,
      ...(known.qualification === undefined ? {} : { qualification: known.qualification }),
      result: result === null ? null : { ...result, measurements: [...result.measurements] },
      history: [...plane.qualifications.historyOf(id)],
      differences: await differencesOf(plane, known.pool, id),
    };
  },
  removeNode,
  noticeNode: async (plane, call) => {
    const { goneAtMs: atMs, inMs, reason } = call.body;
    const gone = atMs === undefined ? { inMs: inMs ?? 0 } : { atMs };
    const wanted = { kind: "noticeNode", nodeId: call.params.id as NodeId, gone, reason } as const;
    const { nodeId, goneAtMs } = await command(plane, call, wanted, "nodeNoticed");
    return { nodeId, goneAtMs };
  },
  withdrawNotice: async (plane, call) => {
    const wanted = { kind: "withdrawNotice", nodeId: call.params.id as NodeId } as const;
    const { nodeId } = await command(plane, call, wanted, "noticeWithdrawn");
    return { nodeId };
  },
};

/** Nodes of the pool that are compared: a majority of more says no more, and costs the event loop time. */
const COMPARED_MAX = 2_000;

type Facts = ReadonlyMap<string, string>;
type Measurements = Parameters<typeof factsOfNode>[1];

const NO_LABELS: Readonly<Record<string, string>> = {};
const NO_MEASUREMENTS: Measurements = [];
/** Facts by the labels of the node and its result, which are replaced when they change. */
const knownFacts = new WeakMap<object, { readonly measurements: Measurements; readonly facts: Facts }>();

function differencesOf(
  { driver, qualifications }: ControlPlane,
  pool: string,
  id: string,
): Promise<Answer<"nodeQualification">["differences"]> {
  return driver.read(({ state }) => {
    const factsOf = ({ id: of, labels = NO_LABELS }: Pick<Node, "id" | "labels">): Facts => {
      const measurements = qualifications.resultOf(of)?.measurements ?? NO_MEASUREMENTS;
      const known = knownFacts.get(labels);
      if (known?.measurements === measurements) return known.facts;
      const facts = factsOfNode(labels, measurements);
      if (labels !== NO_LABELS) knownFacts.set(labels, { measurements, facts });
      return facts;
    };
    const others: Facts[] = [];
    for (const node of state.nodes.values()) {
      if (node.pool !== pool || node.id === id) continue;
      others.push(factsOf(node));
      if (others.length >= COMPARED_MAX) break;
    }
    const own = state.nodes.get(id as NodeId);
    return own === undefined ? [] : [...nodeDifferences(factsOf(own), others)];
  });
}
