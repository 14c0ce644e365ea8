/** The dry run of defragmentation, with names and a sentence for readers. */
import { MIGRATION_REST_MS, foreseeDefragmentation } from "@headroom/engine";
import type { DefragmentationForecast, Engine } from "@headroom/engine";
import type { Defragmentation } from "@headroom/protocol";
import { acceleratorTimeText, plural } from "./plain-text.ts";

/** Maximum number of migrations shown: more than a reader needs. */
const MOVES_MAX = 200;

export function defragmentationView(engine: Engine): Defragmentation {
  const forecast = foreseeDefragmentation(engine, MOVES_MAX);
  const { rules, isInForce, before, after } = forecast;
  const { movesPerHour, lossPerPairMs } = rules;
  return {
    isInForce,
    bounds: { movesPerHour, restMs: MIGRATION_REST_MS, lossPerPairMs },
    moves: forecast.moves.map((move) => {
      const spec = engine.state.workloads.get(move.workloadId)?.spec;
      return { ...move, name: spec?.name ?? move.workloadId, team: spec?.team ?? "" };
    }),
    before: before.map(plain),
    after: after.map(plain),
    sentence: sentenceOf(forecast),
  };
}

type Blocks = DefragmentationForecast["before"][number];

const plain = ({ acceleratorType, nodesByIdle }: Blocks): Defragmentation["before"][number] => ({
  acceleratorType,
  nodesByIdle: nodesByIdle.map((each) => ({ ...each })),
});

function sentenceOf({ moves, isInForce, before, after }: DefragmentationForecast): string {
  const force = isInForce ? "" : " The active policy has no defragmentation, so default bounds are used.";
  if (moves.length === 0) return `No migration is worth its cost: none gathers enough idle accelerators.${force}`;
  const lostMs = moves.reduce((sum, { lostAcceleratorMs }) => sum + lostAcceleratorMs, 0);
  return `${plural(moves.length, "move")} would cost ${acceleratorTimeText(lostMs)} of work. An idle accelerator would then be in a block of ${meanBlock(after)} on average instead of ${meanBlock(before)}.${force}`;
}

/** Mean number of idle accelerators on a node, averaged over the idle accelerators. */
function meanBlock(types: readonly Blocks[]): string {
  let idle = 0;
  let squares = 0;
  for (const { nodesByIdle } of types)
    for (const each of nodesByIdle) {
      idle += each.idle * each.nodes;
      squares += each.idle * each.idle * each.nodes;
    }
  return idle === 0 ? "0" : (squares / idle).toFixed(1);
}
