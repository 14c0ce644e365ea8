/**
 * What only the events of the newest batch can show: nothing was placed on a node that takes no work, past a limit or ahead of
 * a head that blocks; executors were asked for exactly what was decided; and what was accepted is there.
 */
import type { Event } from "../events.ts";
import type { Effect } from "../effects.ts";
import type { Ready } from "../ready.ts";
import type { ReadonlyState } from "../state/state.ts";
import { Findings } from "./findings.ts";
import { amountsOf, compareByPolicy, heldByTeam, isUsable, isWithinLimits } from "./recount.ts";
import { blockingHead } from "./rest.ts";

/** Every rule that the batch broke, given the state as of its end; empty when all hold. */
export function checkBatch(state: ReadonlyState, ready: Ready): string[] {
  const findings = new Findings();
  checkPlacements(findings, state, ready);
  checkEffects(findings, ready);
  for (const reply of ready.replies) {
    if (reply.kind !== "accepted" || reply.result.kind !== "workloadSubmitted") continue;
    const { workloadId } = reply.result;
    // A retry of a command may be answered long after its workload has ended and is no longer kept.
    const isNew = ready.events.some((event) => event.kind === "workloadSubmitted" && event.workloadId === workloadId);
    findings.expect(!isNew || state.workloads.has(workloadId), () => `${workloadId} was accepted and is not there`);
  }
  return findings.list;
}

type GangPlaced = Event & { readonly kind: "gangPlaced" };

function checkPlacements(findings: Findings, state: ReadonlyState, { events, atMs }: Ready): void {
  const held = heldByTeam(state);
  const head = blockingHead(state, atMs);
  for (const event of events.filter((each): each is GangPlaced => each.kind === "gangPlaced")) {
    const { attemptId, acceleratorType: type } = event;
    for (const { node: id } of event.workers) {
      const node = state.nodes.get(id);
      findings.expect(
        node !== undefined && isUsable(node),
        () => `${attemptId} was placed on ${id}, which takes no work`,
      );
    }
    const placed = state.workloads.get(event.workloadId);
    if (placed === undefined) continue;
    const { team, gang } = placed.spec;
    // Placing is the last thing in a batch, so what is held now is what its last placement led to.
    const isKept = isWithinLimits(state, held, { team, asked: amountsOf(gang, 1, type) });
    findings.expect(isKept, () => `${attemptId} took ${team} or a team above it past its limit of ${type}`);
    findings.expect(
      head === null || placed.id === head.id || compareByPolicy(state.policy, placed, head) < 0,
      () => `${attemptId} was started ahead of ${head?.id}, which the policy puts first`,
    );
  }
}

/** Each placement is one launch of the same workers, each request to stop one stop, and there is nothing else. */
function checkEffects(findings: Findings, { events, effects }: Ready): void {
  const decided = events.flatMap((event) => {
    if (event.kind === "gangPlaced") return [`launch ${event.attemptId} ${JSON.stringify(event.workers)}`];
    if (event.kind === "gangGrown") return [`grow ${event.attemptId} ${JSON.stringify(event.workers)}`];
    if (event.kind === "gangShrinkRequested") return [`shrink ${event.attemptId} ${event.workers}`];
    return event.kind === "attemptStopRequested" ? [`stop ${event.attemptId} ${event.reason}`] : [];
  });
  const asked = effects.map(effectText);
  findings.expect(
    decided.toSorted().join("\n") === asked.toSorted().join("\n"),
    () => `decided: ${decided.join("; ")}; asked of executors: ${asked.join("; ")}`,
  );
}

function effectText(effect: Effect): string {
  switch (effect.kind) {
    case "launchGang":
      return `launch ${effect.attemptId} ${JSON.stringify(effect.workers)}`;
    case "growGang":
      return `grow ${effect.attemptId} ${JSON.stringify(effect.workers)}`;
    case "shrinkGang":
      return `shrink ${effect.attemptId} ${effect.workers}`;
    case "stopGang":
      return `stop ${effect.attemptId} ${effect.reason}`;
  }
}
