/**
 * Power that protected starts do not need yet. A protected start is booked beside the running work whose end it waits for, so the watts of a
 * domain would count twice. The draw that this work gives back is lent to other requests. Each instant is checked: now, and each
 * protected start that begins before the request would end.
 */
import type { PowerMeter } from "../../cluster/power-meters.ts";
import type { World } from "../../cluster/world.ts";
import type { ExpectedEnds } from "./expected-completions.ts";
import type { Reservation } from "./reservations.ts";

/** Runs `ask` with the lent power. The indexes contain the protected starts that begin before `untilMs`, and nothing else. */
export function withPowerLent<Answer>(
  world: World,
  ends: ExpectedEnds,
  { starts, untilMs }: { readonly starts: readonly Reservation[]; readonly untilMs: number },
  ask: () => Answer,
): Answer {
  const { power } = world.capacity;
  if (power === null) return ask();
  const credits = powerCredits(
    world,
    ends,
    starts.filter(({ startMs }) => startMs < untilMs),
  );
  for (const [meter, credit] of credits) meter.lentMilliwatts = credit;
  try {
    return ask();
  } finally {
    for (const meter of credits.keys()) meter.lentMilliwatts = 0;
  }
}

function powerCredits(
  { capacity: { power } }: World,
  ends: ExpectedEnds,
  starts: readonly Reservation[],
): ReadonlyMap<PowerMeter, number> {
  const credits = new Map<PowerMeter, number>();
  if (power === null) return credits;
  const reserved = new Map<PowerMeter, number>();
  const ended = new Map<PowerMeter, number>();
  /** The most by which protected starts exceed the work that has ended by then. */
  const excess = new Map<PowerMeter, number>();
  let next = 0;
  for (const { startMs, bucket, placement } of starts) {
    for (let end = ends.at(next); end !== undefined && end.endMs <= startMs; end = ends.at(++next))
      if (end.attempt.stop === null) add(ended, power.drawsOf(end.gang, end.attempt.workers));
    add(reserved, power.drawsOf(bucket.request.gang, placement.workers));
    for (const [meter, draw] of reserved) {
      const beyond = draw - (ended.get(meter) ?? 0) - meter.releasingMilliwatts;
      excess.set(meter, Math.max(excess.get(meter) ?? 0, beyond));
    }
  }
  for (const [meter, draw] of reserved) credits.set(meter, draw - (excess.get(meter) ?? 0));
  return credits;
}

function add(sums: Map<PowerMeter, number>, draws: ReadonlyMap<PowerMeter, number>): void {
  for (const [meter, draw] of draws) sums.set(meter, (sums.get(meter) ?? 0) + draw);
}
