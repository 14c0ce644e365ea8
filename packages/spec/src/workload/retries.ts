/** `retries` of a workload: how often, and after which waits. */
import { z } from "zod";
import { defaulted, optional, record } from "../encoding/field.ts";
import * as notation from "../encoding/notation.ts";
import * as limits from "../limits.ts";
import { writeDuration } from "../notation/quantities.ts";

/**
 * Default in ms of the longest wait before a retry. With the other defaults (three tries, a first wait of one second)
 * retries outlast a short fault of a node but do not hide a broken program.
 */
const BACKOFF_MAX_MS = 300_000;

export const retries = record(
  {
    max: defaulted(notation.integer(0, limits.RETRIES_MAX), 2, {
      description:
        "Number of retries of a task after its own failures. Lost nodes do not count; an attempt that is lost because its records were modified does.",
    }),
    backoff: defaulted(notation.duration(0, limits.GRACE_MS_MAX), 1_000, {
      wire: "backoffMs",
      description: "Wait before the first retry; it doubles with each further one.",
    }),
    maxBackoff: defaulted(notation.duration(0, limits.DURATION_MS_MAX), BACKOFF_MAX_MS, {
      wire: "backoffMaxMs",
      description: "Maximum wait before a retry; if absent at least `backoff`.",
    }),
    quickFailure: optional(notation.duration(1, limits.GRACE_MS_MAX), {
      wire: "quickFailureMs",
      description:
        "A task whose first attempt fails within this time of its start is not retried, because its command is wrong. `headroom run` sets 10s.",
      examples: ["10s"],
      otherwise: "every failure is retried",
    }),
  },
  {
    meant: { limit: "max", count: "max", delay: "backoff" },
    wire: (shape) => z.strictObject(shape).meta({ id: "RetrySpec" }),
    // If the first wait is above the default maximum, the maximum is raised to it, so that a user need not write both.
    toWire: (wire, { backoff, maxBackoff: longest }) =>
      longest === null ? { ...wire, backoffMaxMs: Math.max(backoff ?? 0, BACKOFF_MAX_MS) } : wire,
    toManifest: (written, { backoffMs, backoffMaxMs }) =>
      backoffMs > BACKOFF_MAX_MS && backoffMaxMs === BACKOFF_MAX_MS
        ? { ...written, maxBackoff: writeDuration(backoffMaxMs) }
        : written,
  },
);
