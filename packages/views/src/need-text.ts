/** The resources and node constraints of work as text, in the terms of its spec. */
import type { Workload } from "@headroom/model";
import { acceleratorNoun, grouped, partForm, plural, resourceTexts } from "./plain-text.ts";

type NeedSpec = Workload["spec"];

/** `8 H200 accelerators for each of 4 workers`, `0.25 of an accelerator and 1 core on one node`. */
export function needText({ gang, acceleratorTypes }: NeedSpec): string {
  if (gang.taskGroups !== undefined)
    return `capacity for ${plural(gang.taskGroups.length, "task group")} at the same time`;
  const parts: string[] = [];
  const part = partForm(gang);
  if (part !== null) parts.push(part.of(oneOf(acceleratorTypes)));
  else if (gang.accelerators > 0)
    parts.push(`${grouped(gang.accelerators)} ${acceleratorNoun(acceleratorTypes, gang.accelerators)}`);
  parts.push(...resourceTexts(gang, "quantity"));
  const last = parts.pop() ?? "a node";
  const need = parts.length === 0 ? last : `${parts.join(", ")} and ${last}`;
  const beside =
    gang.accelerators === 0 && acceleratorTypes.length > 0 ? ` with ${acceleratorNoun(acceleratorTypes, 2)}` : "";
  return gang.workers === 1
    ? `${need} on one node${beside}`
    : `${need} for each of ${grouped(gang.workers)} workers${beside === "" ? "" : ` on nodes${beside}`}`;
}

const oneOf = (types: readonly string[]): string =>
  types.length === 0 ? "an accelerator" : `one ${acceleratorNoun(types, 1)}`;

/** Text such as ` on nodes with rack=r1 that admit the rule secret`; empty: any node is suitable. */
export function placesText({ nodeSelector = {}, data }: Pick<NeedSpec, "nodeSelector" | "data">): string {
  const labels = Object.entries(nodeSelector).map(([label, value]) => `${label}=${value}`);
  const labelled = labels.length === 0 ? "" : ` with ${labels.join(" and ")}`;
  const ruled = data?.rule === undefined ? "" : ` that admit the data rule ${data.rule}`;
  return labelled === "" && ruled === "" ? "" : ` on nodes${labelled}${ruled}`;
}
