/** For which power work waits, and until when. */
import type { z } from "zod";
import * as limits from "./limits.ts";
import type { WorkloadSpec } from "./workload-spec.ts";
import { fields, optionalLeaf } from "./field.ts";
import { moment, momentText, readMoment } from "./notation/moments.ts";
import * as quantities from "./notation/quantities.ts";
import type { Reading } from "./notation/reading.ts";

const duration = { type: "string", pattern: quantities.durationPattern };
const readTime = (value: unknown): Reading<number | null> =>
  quantities.readDuration(value, { min: 1, max: limits.DURATION_MS_MAX });

const carbonRange = { min: 0, max: limits.GRAMS_PER_KWH_MAX };

export const startWindowFields = fields(
  {
    maxPrice: optionalLeaf(
      {
        description: "Only while power costs at most so much.",
        type: "string",
        pattern: quantities.energyPricePattern,
        examples: ["0.10 USD/kWh"],
      },
      null,
      (value): Reading<number | null> => quantities.readEnergyPrice(value),
    ),
    maxCarbon: optionalLeaf(
      {
        description: "Only while power has at most so much carbon in it.",
        type: "string",
        pattern: quantities.carbonPattern,
        examples: ["200 g/kWh"],
      },
      null,
      (value): Reading<number | null> => quantities.readCarbon(value, carbonRange),
    ),
    cheapest: optionalLeaf(
      {
        description: "Only in the so much time in which power costs least, until it starts anyway.",
        ...duration,
        examples: ["4h"],
      },
      null,
      readTime,
    ),
    cleanest: optionalLeaf(
      {
        description: "Only in the so much time in which power has least carbon in it, until it starts anyway.",
        ...duration,
        examples: ["4h"],
      },
      null,
      readTime,
    ),
    latestStart: optionalLeaf(
      {
        description: "From this instant on it starts anyway; in a schedule also so long after it was due.",
        ...moment,
        examples: ["2027-03-02T04:00:00Z"],
      },
      null,
      readMoment,
    ),
  },
  {
    meant: {
      price: "maxPrice",
      carbon: "maxCarbon",
      priceMax: "maxPrice",
      carbonMax: "maxCarbon",
      until: "latestStart",
    },
  },
).refine((said) => [said.maxPrice, said.maxCarbon, said.cheapest, said.cleanest].some((bound) => bound !== null), {
  message: "must say maxPrice, maxCarbon, cheapest or cleanest",
});

export type StartWindow = z.output<typeof startWindowFields>;

export const startWindowOf = ({
  maxPrice,
  maxCarbon,
  cheapest,
  cleanest,
  latestStart,
}: StartWindow): NonNullable<WorkloadSpec["startWindow"]> => ({
  ...(maxPrice === null ? {} : { microUsdPerKwhMax: maxPrice }),
  ...(maxCarbon === null ? {} : { gramsPerKwhMax: maxCarbon }),
  ...(cheapest === null ? {} : { cheapestMs: cheapest }),
  ...(cleanest === null ? {} : { cleanestMs: cleanest }),
  ...(latestStart?.kind === "instant" ? { latestStartMs: latestStart.ms } : {}),
});

export const startWindowText = (
  startWindow: NonNullable<WorkloadSpec["startWindow"]>,
  fromDueMs: number | undefined,
): Record<string, unknown> => {
  const latestStart = momentText(startWindow.latestStartMs, fromDueMs);
  const { microUsdPerKwhMax, gramsPerKwhMax, cheapestMs, cleanestMs } = startWindow;
  return {
    ...(microUsdPerKwhMax === undefined ? {} : { maxPrice: quantities.writeEnergyPrice(microUsdPerKwhMax) }),
    ...(gramsPerKwhMax === undefined ? {} : { maxCarbon: quantities.writeCarbon(gramsPerKwhMax) }),
    ...(cheapestMs === undefined ? {} : { cheapest: quantities.writeDuration(cheapestMs) }),
    ...(cleanestMs === undefined ? {} : { cleanest: quantities.writeDuration(cleanestMs) }),
    ...(latestStart === undefined ? {} : { latestStart }),
  };
};
