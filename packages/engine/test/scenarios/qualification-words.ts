/** Words of scenarios about the qualification of nodes. */
import { nodeId } from "@headroom/model";
import type { Input, QualificationSuite } from "@headroom/model";
import type { ReadonlyState } from "../../src/index.ts";
import { applied, command, pool, site } from "../lab/make.ts";

const RUN_MS = 60_000;

/** `provenPool TYPE quick|full|none`. */
export function provenPoolOf(text: string): Input {
  const [type = "", suite = "none"] = text.split(/\s+/);
  const rule = { suite: suite as QualificationSuite, limitMs: 180_000, atOnce: 2 };
  const pools = [{ ...pool(type), ...(suite === "none" ? {} : { qualification: rule }) }];
  return applied({ sites: [site], pools });
}

/** `qualify again NODE`, `qualify started NODE`, `qualify passed NODE`, `qualify nothing NODE REASON`, `qualify late NODE` about an earlier run. */
export function qualifyOf({ nodes }: ReadonlyState, text: string): Input {
  const [what = "", name = "", ...reason] = text.split(/\s+/);
  const node = nodeId(name);
  const { id = 0, run = 0 } = nodes.get(node)?.qualification ?? {};
  if (what === "again") return command({ kind: "qualifyNode", nodeId: node });
  if (what === "started") return { kind: "qualificationStarted", nodeId: node, id, run: run + 1, expectedMs: RUN_MS };
  const about = what === "late" ? { id: id - 1, run: 1 } : { id, run };
  const isPassed = what !== "nothing";
  return { kind: "qualificationEnded", nodeId: node, ...about, isPassed, detail: reason.join(" "), durationMs: RUN_MS };
}
