/**
 * Domains whose declared draw is above their cap, as after a cap was lowered. Placement adds nothing there, and evicts nothing: which work
 * leaves is a decision of people.
 */
import type { Engine } from "@headroom/engine";
import { powerDraws } from "@headroom/explain";
import { ground, shortReason } from "@headroom/health";
import type { Finding } from "@headroom/health";
import { cappedDomainName } from "@headroom/model";

const FINDINGS_MAX = 50;

export function powerFindings(engine: Engine): readonly Finding[] {
  return powerDraws(engine)
    .filter(({ domain, drawWatts }) => drawWatts > domain.watts)
    .slice(0, FINDINGS_MAX)
    .map(({ domain, drawWatts }): Finding => {
      const name = cappedDomainName(domain);
      return {
        id: `power:${domain.of}:${domain.level}:${domain.path.join("/")}`,
        kind: "power",
        sinceMs: 0,
        change: {
          kind: "advice",
          about: shortReason(`${domain.of} of ${name} at site ${domain.path[0] ?? ""}`),
          text: "migrate or stop work there, or raise the cap: no further work with accelerators is placed in the domain",
        },
        team: null,
        reason: shortReason(`${name} draws more than its cap on ${domain.of}`),
        ground: [
          ground("draw", drawWatts / 1000, "kW"),
          ground("cap", domain.watts / 1000, "kW"),
          ground("above the cap", (drawWatts - domain.watts) / 1000, "kW"),
        ],
      };
    });
}
