/**
 * Finds out why a fleet that is large enough does not accept the work: suitable nodes are drained, or lack the required
 * labels.
 */
import { WHOLE_MILLI, fractionOn, nodeResources } from "@headroom/model";
import type { Node, WorkloadSpec } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { writeInstant } from "@headroom/protocol";
import { plural } from "./plain-text.ts";

const NODES_NAMED_MAX = 3;

/** The cause; `null`: neither explains it. Only requests for whole nodes without task groups are examined. */
export function fleetCause({ nodes }: Pick<ReadonlyState, "nodes">, spec: WorkloadSpec): string | null {
  if (spec.gang.taskGroups !== undefined || spec.gang.profile !== undefined) return null;
  const able = [...nodes.values()].filter((node) => node.health === "up" && roomOn(node, spec) > 0);
  const wished = able.filter((node) => carries(node, spec.nodeSelector ?? {}));
  const drained = wished.filter(({ draining }) => draining);
  if (drained.length > 0 && roomOf(wished, spec) >= spec.gang.workers) {
    const would = drained.length === 1 ? "1 suitable node is" : `${drained.length} suitable nodes are`;
    return `${would} drained: ${namesOf(drained)}. Resume ${drained.length === 1 ? "it" : "them"}.`;
  }
  const proving = wished.filter(({ qualification }) => qualification !== undefined);
  if (proving.length > 0 && roomOf(wished, spec) >= spec.gang.workers) return provingText(proving);
  const working = able.filter(({ draining }) => !draining);
  const labels = Object.entries(spec.nodeSelector ?? {}).map(([label, value]) => `${label}=${value}`);
  if (labels.length === 0 || roomOf(working, spec) < spec.gang.workers) return null;
  const found = working.filter((node) => carries(node, spec.nodeSelector ?? {})).length;
  return `${found === 0 ? "None" : `Only ${found}`} of the ${plural(working.length, "node")} that could hold a worker ${found > 1 ? "carry" : "carries"} ${labels.join(" and ")}, as its nodeSelector requires.`;
}

/** `2 suitable nodes have to qualify before they take work: n1, n2 (expected by …).` */
function provingText(proving: readonly Node[]): string {
  const failed = proving.filter(({ qualification }) => qualification?.phase === "failed");
  const ends = proving.flatMap(({ qualification: { startedAtMs, expectedMs } = {} }) =>
    startedAtMs === undefined || expectedMs === undefined ? [] : [startedAtMs + expectedMs],
  );
  const until = ends.length === 0 ? "" : `; the first one is expected to pass by ${writeInstant(Math.min(...ends))}`;
  const verb = proving.length === 1 ? "has" : "have";
  const repair = failed.length === 0 ? "" : ` ${namesOf(failed)} did not pass: repair, then headroom nodes qualify.`;
  return `${plural(proving.length, "suitable node")} ${verb} to qualify before taking work: ${namesOf(proving)}${until}.${repair}`;
}

/** Number of workers that would fit on the node if nothing else ran there. */
export function roomOn(node: Node, { gang, acceleratorTypes }: WorkloadSpec): number {
  if (acceleratorTypes.length > 0 && !acceleratorTypes.includes(node.acceleratorType)) return 0;
  const times = (has: number, needed: number): number =>
    needed === 0 ? Number.POSITIVE_INFINITY : Math.floor(has / needed);
  return Math.min(
    gang.workers,
    times(node.acceleratorCount, gang.accelerators) * Math.floor(WHOLE_MILLI / fractionOn(gang, node)),
    ...nodeResources.map(({ asked, of }) => times(of(node), asked(gang))),
  );
}

const roomOf = (nodes: readonly Node[], spec: WorkloadSpec): number =>
  nodes.reduce((sum, node) => sum + roomOn(node, spec), 0);

const carries = ({ labels }: Node, selector: Readonly<Record<string, string>>): boolean =>
  Object.entries(selector).every(([label, value]) => labels?.[label] === value);

function namesOf(nodes: readonly Node[]): string {
  const named = nodes.slice(0, NODES_NAMED_MAX).map(({ id }) => id);
  const rest = nodes.length - named.length;
  return rest === 0 ? named.join(", ") : `${named.join(", ")} and ${rest} more`;
}
