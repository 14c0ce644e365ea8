/** Rules of qualification that no executor could carry out are refused before they are recorded. */
import type { Pool } from "@headroom/model";
import { refuse } from "@headroom/protocol";
import type { ControlPlane } from "./control-plane.ts";

export async function checkSuites(
  { driver, qualifications }: Pick<ControlPlane, "driver" | "qualifications">,
  pools: readonly Pool[],
): Promise<void> {
  if (pools.every(({ qualification }) => qualification === undefined)) return;
  const problems = await driver.read((engine) => qualifications.problems(engine, pools));
  if (problems.length > 0) throw refuse("unknownSuite", problems.join(" "));
}
