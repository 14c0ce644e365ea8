/** The overflow of an endpoint: its policy, requests that left and stayed, and money. */
import { z } from "zod";

const REASONS_MAX = 16;
/** Largest amount in a report, so that sums over gateways stay exact. */
const AMOUNT_MAX = 1e15;
const amount = z.int().min(0).max(AMOUNT_MAX);

/** By reason. A newer gateway may know more reasons. */
const counts = z
  .record(z.string().regex(/^[A-Za-z]{1,32}$/), amount)
  .refine((entries) => Object.keys(entries).length <= REASONS_MAX, {
    message: `must have at most ${REASONS_MAX} entries`,
  });

const TARGETS_MAX = 64;
const targets = z
  .record(z.string().max(128), amount)
  .refine((entries) => Object.keys(entries).length <= TARGETS_MAX, {
    message: `must have at most ${TARGETS_MAX} entries`,
  })
  .meta({ description: "Requests that left, by pool of the gateway; absent: the gateway is of an earlier release." });

const left = counts.meta({
  description:
    "Requests that left, by reason: `noReplica`, `failed`, `queueTime`, `concurrency`; since the start of the gateway.",
});
const stayed = counts.meta({
  description:
    "Requests that stayed although the replicas were saturated: `dataRule`, `budget`, `price` (the target has none), `target` (it takes none now).",
});
const nanoUsd = amount.meta({ description: "Cost of the requests that left, in 10⁻⁹ USD." });
const spentNanoUsd = amount.nullable().meta({
  description: "Spent of the budget in its period, requests in progress included; null: there is no budget.",
});

export const overflowReading = z
  .strictObject({ left, stayed, targets: targets.optional(), nanoUsd, spentNanoUsd })
  .meta({ id: "OverflowReading", description: "Requests that left an endpoint, as a gateway counts them." });

export const overflowState = z
  .object({
    provider: z.string().optional().meta({ description: "Pool of the gateway that takes the requests." }),
    endpoint: z.string().optional().meta({ description: "Endpoint that takes the requests." }),
    queueTimeMs: z.int().optional(),
    concurrencyMilli: z.int().optional(),
    budget: z.object({ microUsd: z.int(), period: z.enum(["day", "month"]) }).optional(),
    dataRules: z.array(z.string()),
    reading: z
      .object({ left, stayed, targets: targets.optional(), nanoUsd, spentNanoUsd })
      .nullable()
      .meta({ description: "Sums over gateways; null: none reported." }),
    sentence: z.string(),
  })
  .meta({ id: "EndpointOverflow" });

export type OverflowReading = z.output<typeof overflowReading>;
export type OverflowState = z.output<typeof overflowState>;
