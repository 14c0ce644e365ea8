/** Maps of comparable sets: one letter for a node, or for some neighbours in a large set. */
import type { Node } from "@headroom/model";
import type { HealthSummary } from "@headroom/protocol";

/** Cells of one set. More nodes share cells, so that a map of a large fleet stays small. */
const CELLS_MAX = 512;

type Phase = Exclude<keyof HealthSummary["nodes"], "total">;

/** The worst first: a cell of several nodes has the letter of the worst one. */
export const mapLetters: Readonly<Record<Phase | "faulty", string>> = {
  lost: "l",
  faulty: "f",
  removing: "r",
  suspended: "s",
  qualifying: "q",
  draining: "d",
  inService: ".",
};

const rank = new Map(Object.keys(mapLetters).map((phase, index) => [phase, index]));

/** `nodes`: in the order in which they joined, which is usually that of the racks. */
export function nodeMap(
  nodes: readonly Node[],
  phaseOf: (node: Node) => Phase | "faulty",
): HealthSummary["sets"][number]["map"] {
  const nodesPerCell = Math.max(1, Math.ceil(nodes.length / CELLS_MAX));
  let cells = "";
  for (let from = 0; from < nodes.length; from += nodesPerCell) {
    let worst: Phase | "faulty" = "inService";
    for (const node of nodes.slice(from, from + nodesPerCell)) {
      const phase = phaseOf(node);
      if ((rank.get(phase) ?? 0) < (rank.get(worst) ?? 0)) worst = phase;
    }
    cells += mapLetters[worst];
  }
  return { nodesPerCell, cells };
}
