/** Qualification of nodes in the demo: no suite runs there, so that no node has a result. */
import { nodeId } from "@headroom/model";
import { refuse } from "@headroom/protocol";
import type { HeadroomClient } from "@headroom/protocol";
import * as views from "@headroom/views";
import type { DemoWorld } from "./demo-world.ts";

export const qualificationClient = (
  { engine }: Pick<DemoWorld, "engine">,
  run: DemoWorld["command"],
): Pick<HeadroomClient, "qualifyNode" | "nodeQualification"> => ({
  qualifyNode: async (id) => {
    run({ kind: "qualifyNode", nodeId: nodeId(id) });
    return { nodeId: id };
  },
  nodeQualification: async (id) => {
    const node = views.nodeView(engine, id);
    if (node === null) throw refuse("unknownNode", `There is no node ${id}.`);
    const { qualification } = node;
    return {
      nodeId: id,
      ...(qualification === undefined ? {} : { qualification }),
      result: null,
      history: [],
      differences: [],
    };
  },
});
