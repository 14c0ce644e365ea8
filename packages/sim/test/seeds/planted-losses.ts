/** Bugs that only the loss of a whole failure domain shows: three or more nodes are lost in one round. */
import type { Event, Input } from "@headroom/model";
import type { Ready } from "@headroom/engine";
import type { PlantedBug } from "./bent-views.ts";

const TOGETHER_MIN = 3;

const losesDomain = ({ events }: Ready): boolean =>
  events.filter(({ kind }) => kind === "nodeLost").length >= TOGETHER_MIN;

/** The list without the items of one kind, other than the first. */
function onlyFirst<Item>(items: readonly Item[], isOfKind: (item: Item) => boolean): readonly Item[] {
  const first = items.find(isOfKind);
  return items.filter((item) => item === first || !isOfKind(item));
}

const isLoss = ({ kind }: Input): boolean => kind === "nodeUnreachable";
const isLostAttempt = (event: Event): boolean => event.kind === "attemptEnded" && event.outcome === "lost";

export const plantedLosses: readonly PlantedBug[] = [
  {
    name: "of a lost domain only the first node counts as lost",
    found: /no rest after|is .* for ever/,
    bendInputs: (inputs) => (inputs.filter(isLoss).length < TOGETHER_MIN ? inputs : onlyFirst(inputs, isLoss)),
  },
  {
    name: "of the attempts in a lost domain only the first ends",
    found: /the active attempts in the events and in the state differ/,
    bendReady: (ready) => (losesDomain(ready) ? { ...ready, events: onlyFirst(ready.events, isLostAttempt) } : ready),
  },
  {
    name: "gangs that lose workers with a domain are not stopped elsewhere",
    found: /decided: .*stop w[\d.]+ nodeLost/,
    bendReady: (ready) =>
      losesDomain(ready) ? { ...ready, effects: ready.effects.filter(({ kind }) => kind !== "stopGang") } : ready,
  },
];
