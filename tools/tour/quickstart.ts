/** Directory of the quickstart's checkpoints. */
import path from "node:path";
import type { Stage } from "./stage.ts";

export async function quickstartCheckpoints(stage: Stage): Promise<string> {
  const { id } = await stage.json<{ id: string }>("show", "quickstart");
  return path.join(stage.home, "checkpoints", id);
}
