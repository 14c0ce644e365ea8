/**
 * Domains whose declared draw is above their cap, as after a cap was lowered. Placement adds nothing there, and evicts nothing: which work
 * leaves is a decision of people.
 */
import type { PowerDraw } from "@headroom/explain";
import { ground, shortReason } from "@headroom/health";
import type { Finding } from "@headroom/health";
import { cappedDomainName } from "@headroom/model";

const FINDINGS_MAX = 50;
/** A domain that is above its cap for a shorter time, as while work ends, is no finding. */
const LASTING_MS = 60_000;

export class PowerWatch {
  /** When each domain above its cap was first seen, by the id of its finding. */
  #since = new Map<string, number>();

  look(draws: readonly PowerDraw[], nowMs: number): readonly Finding[] {
    const above = draws.filter(({ isAboveCap }) => isAboveCap).slice(0, FINDINGS_MAX);
    this.#since = new Map(above.map((draw) => [idOf(draw), this.#since.get(idOf(draw)) ?? nowMs]));
    return above.flatMap((draw) => {
      const sinceMs = this.#since.get(idOf(draw)) ?? nowMs;
      return nowMs - sinceMs < LASTING_MS ? [] : [findingOf(draw, sinceMs)];
    });
  }
}

const idOf = ({ domain: { of, level, path } }: PowerDraw): string => `power:${of}:${level}:${path.join("/")}`;

function findingOf(draw: PowerDraw, sinceMs: number): Finding {
  const { domain, drawWatts } = draw;
  const name = cappedDomainName(domain);
  return {
    id: idOf(draw),
    kind: "power",
    sinceMs,
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
}
