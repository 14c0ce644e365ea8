/** `qualification` of a pool: the suite that its nodes must pass before they take work. */
import { z } from "zod";
import { defaulted, optional, record, required } from "./encoding/field.ts";
import * as notation from "./encoding/notation.ts";

const suites = ["quick", "full"] as const;
const QUICK_LIMIT_MS = 180_000;
const FULL_LIMIT_MS = 3_600_000;
const AT_ONCE = 4;
const AT_ONCE_MAX = 1_000;
const LIMIT_MS_MIN = 1_000;
const LIMIT_MS_MAX = 86_400_000;

export const qualification = record(
  {
    suite: required(notation.choice(suites), {
      description:
        "The suite that a node must pass when it joins, and when it returns from a loss, a drain or a change of its amounts.",
      examples: ["quick"],
    }),
    limit: optional(notation.duration(LIMIT_MS_MIN, LIMIT_MS_MAX), {
      wire: "limitMs",
      description: "A run that takes longer is ended and proves nothing. It is repeated once.",
      otherwise: "3m for `quick`, 1h for `full`",
    }),
    atOnce: defaulted(notation.integer(1, AT_ONCE_MAX), AT_ONCE, {
      description: "The most nodes of the pool that run the suite at a time.",
    }),
  },
  {
    wire: (shape) =>
      z
        .strictObject({
          ...shape,
          limitMs: z.int().min(LIMIT_MS_MIN).max(LIMIT_MS_MAX).meta({
            description: "A run that takes longer in ms is ended and proves nothing.",
          }),
        })
        .meta({ id: "QualificationRule" }),
    toWire: (wire) => ({ limitMs: wire["suite"] === "quick" ? QUICK_LIMIT_MS : FULL_LIMIT_MS, ...wire }),
  },
);
