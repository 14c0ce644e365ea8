/** The declared draw of domains with a cap on power or cooling, from the meters that placement reads. */
import type { CappedDomain } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import { worldOf } from "@headroom/engine/internals";

export interface PowerDraw {
  readonly domain: CappedDomain;
  /** Draw of the nodes and of all work in the domain. Nominations count instead of the terminating work for whose place they wait. */
  readonly drawWatts: number;
  /** Whether the domain draws more than its cap even when terminating work has ended. */
  readonly isAboveCap: boolean;
}

/** All capped domains with nodes, in the order in which nodes joined them. Empty: no site has caps. */
export function powerDraws(engine: Engine): readonly PowerDraw[] {
  const { power } = worldOf(engine).capacity;
  if (power === null) return [];
  return Array.from(power.all, ({ domain, nodesMilliwatts, takenMilliwatts, releasingMilliwatts, heldMilliwatts }) => {
    const lasting = takenMilliwatts - releasingMilliwatts;
    return {
      domain,
      drawWatts: Math.ceil((nodesMilliwatts + Math.max(heldMilliwatts, lasting)) / 1000),
      isAboveCap: nodesMilliwatts + lasting > domain.watts * 1000,
    };
  });
}
