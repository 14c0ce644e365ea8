/** Incidents in the demo: the same fold and views as in the server. */
import { ProblemError, annotationRequest, faultReport, refuse } from "@headroom/protocol";
import type { HeadroomClient, Incident } from "@headroom/protocol";
import { nodeId } from "@headroom/model";
import * as views from "@headroom/views";
import { accepted } from "../workers/accepted.ts";
import type { DemoWorld } from "./demo-world.ts";

type IncidentReading = Pick<
  HeadroomClient,
  "listIncidents" | "getIncident" | "fleetHealth" | "comparePeers" | "linkMap" | "listFindings"
>;
type IncidentCommands = Pick<HeadroomClient, "annotateIncident" | "reportFaults">;
type IncidentWorld = Pick<DemoWorld, "engine" | "incidents" | "nowMs">;

function shown({ incidents }: Pick<DemoWorld, "incidents">, id: string): Incident {
  const facts = incidents.find(id);
  if (facts === null) throw refuse("unknownIncident", `There is no incident ${id}.`);
  return views.incidentView(facts, null);
}

export const incidentReading = (world: IncidentWorld): IncidentReading => ({
  listIncidents: async (query = {}) => {
    const { items, nextCursor } = views.incidentList(world.incidents.incidents(), query, null);
    return { items: [...items], nextCursor };
  },
  getIncident: async (id) => shown(world, id),
  fleetHealth: async () => views.healthSummary(world.engine, world.incidents, world.nowMs),
  // The demo has no readings of accelerators.
  comparePeers: async () => ({ compared: 0, items: [] }),
  // The demo runs no suites.
  linkMap: async () => ({ pairs: 0, nodes: { total: 0, measured: 0 }, items: [], leftOut: 0 }),
  // Proposals of findings are the server's work; the demo has none.
  listFindings: async () => ({ items: [] }),
});

export const incidentCommands = (world: IncidentWorld, run: DemoWorld["command"]): IncidentCommands => ({
  annotateIncident: async (id, body) => {
    const { id: incident } = shown(world, id);
    const wanted = accepted(annotationRequest.safeParse(body));
    const annotation =
      wanted.kind === "silence"
        ? ({ kind: "silence", untilMs: wanted.untilMs ?? world.nowMs + (wanted.forMs ?? 0) } as const)
        : wanted;
    run({ kind: "annotateIncident", incident, annotation });
    return shown(world, incident);
  },
  reportFaults: async (id, body) => {
    if (!world.engine.state.nodes.has(nodeId(id)))
      throw new ProblemError(views.rejectionProblem({ code: "unknownNode", nodeId: nodeId(id) }));
    const faults = accepted(faultReport.safeParse(body)).faults.map(({ device, ...fault }) => ({
      ...fault,
      ...(device === undefined ? {} : { device }),
    }));
    run({ kind: "reportFaults", nodeId: nodeId(id), faults });
    return { nodeId: id };
  },
});
