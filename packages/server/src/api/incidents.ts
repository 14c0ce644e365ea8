/** Incidents and the health of the fleet over HTTP. The fold of the journal is the incident service's. */
import { setImmediate } from "node:timers/promises";
import type { IncidentAnnotation, NodeId } from "@headroom/model";
import { linkMapInPortions, type IncidentFacts } from "@headroom/health";
import { refuse } from "@headroom/protocol";
import type { Incident } from "@headroom/protocol";
import { findingsView, healthSummary, incidentList, incidentView } from "@headroom/views";
import { nameOf } from "../qualifications/candidates.ts";
import { peerSets } from "../telemetry/peer-sets.ts";
import { readableTeams } from "../auth/team-tree.ts";
import { command } from "./calls.ts";
import type { Answer, Call } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";

function factsOf({ incidents }: ControlPlane, id: string): IncidentFacts {
  const found = incidents.fold.find(id);
  if (found === null) throw refuse("unknownIncident", `There is no incident ${id}. headroom incident list shows them.`);
  return found;
}

export const listIncidents = (
  { driver, incidents }: ControlPlane,
  { query, principal }: Call<"listIncidents">,
): Promise<Answer<"listIncidents">> =>
  driver.read(({ state }) => {
    const page = incidentList(incidents.fold.incidents(), query, readableTeams(state, principal));
    const runbooksOf = incidents.runbooks.reader();
    return { ...page, items: page.items.map((each) => withRunbooks(runbooksOf, each, [each.cause, ...each.codes])) };
  });

/** Runbooks are files of the operator, outside the journal. */
function withRunbooks<Item extends object>(
  runbooksOf: ReturnType<ControlPlane["incidents"]["runbooks"]["reader"]>,
  item: Item,
  keys: readonly string[],
): Item & Pick<Incident, "runbooks"> {
  const found = runbooksOf(keys);
  return found.length === 0 ? item : { ...item, runbooks: found };
}

export const getIncident = (
  plane: ControlPlane,
  { params: { id }, principal }: Call<"getIncident">,
): Promise<Incident> =>
  plane.driver.read(({ state }) => {
    const incident = incidentView(factsOf(plane, id), readableTeams(state, principal));
    return withRunbooks(plane.incidents.runbooks.reader(), incident, [incident.cause, ...incident.codes]);
  });

export async function annotateIncident(plane: ControlPlane, call: Call<"annotateIncident">): Promise<Incident> {
  const { id: incident } = factsOf(plane, call.params.id);
  const annotation = annotationOf(call.body, plane.nowMs());
  await command(plane, call, { kind: "annotateIncident", incident, annotation }, "incidentAnnotated");
  await plane.incidents.caughtUp();
  return getIncident(plane, call as unknown as Call<"getIncident">);
}

function annotationOf(body: Call<"annotateIncident">["body"], nowMs: number): IncidentAnnotation {
  if (body.kind !== "silence") return body;
  return { kind: "silence", untilMs: body.untilMs ?? nowMs + (body.forMs ?? 0) };
}

export const fleetHealth = ({ driver, incidents, signalMemory, nowMs }: ControlPlane): Promise<Answer<"fleetHealth">> =>
  driver.read((engine) => healthSummary(engine, incidents.fold, nowMs(), [...signalMemory.unwatched]));

export async function comparePeers({ driver, telemetry }: ControlPlane): Promise<Answer<"comparePeers">> {
  const sets = await driver.read(({ state }) => peerSets(state));
  const { comparedCount, deviations, units } = await telemetry.comparePeers(sets);
  const items = deviations.map(({ subject, set, metric, peerCount: _count, powerPart: _power, ...figures }) => {
    const [, nodeId = "", index] = /^[a-z]+:(.*?)(?:#(\d+))?$/.exec(subject) ?? [];
    const accelerator = index === undefined ? null : Number(index);
    return { nodeId, accelerator, set: set.replace(/^\S+ /, ""), metric, unit: units[metric] ?? "", ...figures };
  });
  return { compared: comparedCount, items };
}

/** Answers are kept for this long, because one takes up to 0.5 s in a fleet of 10,000 nodes, and suites run seldom. */
const LINKS_KEPT_MS = 60_000;
const keptLinks = new WeakMap<ControlPlane, { readonly atMs: number; readonly links: Promise<Answer<"linkMap">> }>();

/** Requests that come together share one answer. One that fails is not kept. */
export function linkMap(plane: ControlPlane): Promise<Answer<"linkMap">> {
  const kept = keptLinks.get(plane);
  const atMs = performance.now();
  if (kept !== undefined && atMs - kept.atMs < LINKS_KEPT_MS) return kept.links;
  const links = makeLinkMap(plane);
  keptLinks.set(plane, { atMs, links });
  links.catch(() => keptLinks.delete(plane));
  return links;
}

async function makeLinkMap({ driver, qualifications }: ControlPlane): Promise<Answer<"linkMap">> {
  const nodes = await driver.read(({ state }) =>
    [...state.nodes.values()].map((node) => ({
      id: node.id,
      name: nameOf(node),
      pool: node.pool,
      leaf: node.fabric.join("/"),
      result: qualifications.resultOf(node.id),
    })),
  );
  const portions = linkMapInPortions(nodes);
  let step = portions.next();
  for (; step.done !== true; step = portions.next()) await setImmediate();
  const { items, ...counts } = step.value;
  return { ...counts, items: items.map((item) => ({ ...item, nodes: [...item.nodes] })) };
}

export const listFindings = (
  { driver, remedies, incidents }: ControlPlane,
  { principal }: Call<"listFindings">,
): Promise<Answer<"listFindings">> =>
  driver.read(({ state }) => {
    const runbooksOf = incidents.runbooks.reader();
    const codes = codesByFinding(incidents.fold.incidents());
    const findings = findingsView(state, remedies.findings(state), readableTeams(state, principal));
    return {
      items: findings.map((finding) =>
        withRunbooks(runbooksOf, finding, [finding.kind, ...(codes.get(finding.id) ?? [])]),
      ),
    };
  });

/** Codes of the failures that findings are made from, by the id of the finding. */
function codesByFinding(incidents: readonly IncidentFacts[]): ReadonlyMap<string, readonly string[]> {
  const codes = new Map<string, readonly string[]>();
  for (const { failures } of incidents)
    for (const { node, sequence, codes: own } of failures) codes.set(`fault:${node}:${sequence}`, own);
  return codes;
}

export async function reportFaults(plane: ControlPlane, call: Call<"reportFaults">): Promise<Answer<"reportFaults">> {
  const { id } = call.params;
  const faults = call.body.faults.map(({ device, ...fault }) => ({
    ...fault,
    ...(device === undefined ? {} : { device }),
  }));
  await command(plane, call, { kind: "reportFaults", nodeId: id as NodeId, faults }, "faultsReported");
  return { nodeId: id };
}
