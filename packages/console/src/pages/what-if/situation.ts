/** Data that both halves of the what-if page need. */
import type { Fleet, Node, Policy, Team } from "@headroom/protocol";
import type { Change } from "./change.ts";

export interface Situation {
  readonly change: Change;
  readonly onChange: (change: Change) => void;
  readonly nodes: readonly Node[];
  readonly fleet: Fleet;
  readonly teams: readonly Team[];
  readonly presets: readonly Policy[];
  readonly activePolicy: string;
}
