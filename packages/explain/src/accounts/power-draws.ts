/** The declared draw of domains with a cap on power or cooling, from the meters that placement reads. */
import type { CappedDomain } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import { worldOf } from "@headroom/engine/internals";

export interface PowerDraw {
  readonly domain: CappedDomain;
  /** Draw of the nodes and of all work that is placed in the domain, terminating work included. */
  readonly drawWatts: number;
}

/** All capped domains with nodes, in the order in which nodes joined them. Empty: no site has caps. */
export function powerDraws(engine: Engine): readonly PowerDraw[] {
  const { power } = worldOf(engine).capacity;
  if (power === null) return [];
  return Array.from(power.all, ({ domain, nodesMilliwatts, takenMilliwatts }) => ({
    domain,
    drawWatts: Math.ceil((nodesMilliwatts + takenMilliwatts) / 1000),
  }));
}
