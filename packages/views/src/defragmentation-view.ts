/** The dry run of defragmentation, with names and a sentence for readers. */
import { MIGRATION_REST_MS } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import { foreseeDefragmentation } from "@headroom/explain";
import type { DefragmentationForecast } from "@headroom/explain";
import type { Defragmentation } from "@headroom/protocol";
import { acceleratorTimeText, plural } from "./plain-text.ts";

/** Maximum number of migrations shown: more than a reader needs. */
const MIGRATIONS_MAX = 200;

export function defragmentationView(engine: Engine): Defragmentation {
  const forecast = foreseeDefragmentation(engine, MIGRATIONS_MAX);
  const { rules, isActive, before, after } = forecast;
  const { migrationsPerHour, lossPerPairMs } = rules;
  return {
    isActive,
    bounds: { migrationsPerHour, restMs: MIGRATION_REST_MS, lossPerPairMs },
    migrations: forecast.migrations.map((migration) => {
      const spec = engine.state.workloads.get(migration.workloadId)?.spec;
      return { ...migration, name: spec?.name ?? migration.workloadId, team: spec?.team ?? "" };
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

function sentenceOf({ migrations, isActive, before, after }: DefragmentationForecast): string {
  const note = isActive ? "" : " The active policy has no defragmentation, so default bounds are used.";
  if (migrations.length === 0) return `No migration is worth its cost: none gathers enough idle accelerators.${note}`;
  const lostMs = migrations.reduce((sum, { lostAcceleratorMs }) => sum + lostAcceleratorMs, 0);
  return `${plural(migrations.length, "migration")} would cost ${acceleratorTimeText(lostMs)} of work. An idle accelerator would then be in a block of ${meanBlock(after)} on average instead of ${meanBlock(before)}.${note}`;
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
