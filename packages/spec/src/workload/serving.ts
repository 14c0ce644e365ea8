/** Fields of `kind: serve`: the number of replicas, and how a replica shows that it takes requests. */
import { z } from "zod";
import { defaulted, nested, optional, record } from "../encoding/field.ts";
import * as notation from "../encoding/notation.ts";
import * as limits from "../limits.ts";
import { read, refuse, shown, type Reading } from "../notation/reading.ts";

const bound = z.int().min(0).max(limits.REPLICAS_MAX);

export const replicaRange = z
  .strictObject({ min: bound, max: bound.min(1) })
  .refine(({ min, max }) => min <= max, { path: ["max"], message: "must be at least min" })
  .meta({ id: "ReplicaRange", description: "Minimum and maximum number of replicas of an endpoint." });

type ReplicaRange = z.output<typeof replicaRange>;

function readReplicas(value: unknown): Reading<ReplicaRange> {
  const wanted = typeof value === "number" ? { min: value, max: value } : value;
  const parsed = replicaRange.safeParse(wanted);
  return parsed.success
    ? read(parsed.data)
    : refuse(
        `must be a number from 1 to ${limits.REPLICAS_MAX}, or { min: 1, max: 4 } with 0 ≤ min ≤ max, got ${shown(value)}`,
      );
}

const replicasNotation = notation.scalar({
  wire: replicaRange,
  kind: "number, or `{ min, max }`",
  editor: {
    anyOf: [
      { type: "integer", minimum: 1, maximum: limits.REPLICAS_MAX },
      {
        type: "object",
        additionalProperties: false,
        required: ["min", "max"],
        properties: {
          min: { type: "integer", minimum: 0, maximum: limits.REPLICAS_MAX },
          max: { type: "integer", minimum: 1, maximum: limits.REPLICAS_MAX },
        },
      },
    ],
  },
  read: readReplicas,
  write: ({ min, max }) => (min === max ? max : { min, max }),
});

export const replicas = defaulted(
  replicasNotation,
  { min: 1, max: 1 },
  {
    description:
      "Number of replicas, or its bounds. The endpoint starts with the minimum; `headroom set NAME replicas=N` changes the number within the bounds.",
    examples: [{ min: 1, max: 4 }, 2],
    otherwise: "`1`",
  },
);

/** The default time to load a large model from a network file system. */
const READY_TIMEOUT_MS = 600_000;

const urlPath = z
  .string()
  .max(limits.PATH_CHARS_MAX)
  .regex(/^\/[\x21-\x7e]*$/);

const readiness = record(
  {
    path: defaulted(notation.text(urlPath, limits.PATH_CHARS_MAX, "a path like /health"), "/health", {
      description: "Path on the replica's port (`PORT`) that answers with a status from 200 to 399 when it is ready.",
    }),
    timeout: defaulted(notation.duration(1_000, limits.GRACE_MS_MAX), READY_TIMEOUT_MS, {
      wire: "timeoutMs",
      description: "Time within which a replica must become ready; otherwise it is restarted.",
    }),
  },
  {
    meant: { url: "path", httpGet: "path", deadline: "timeout" },
    wire: (shape) => z.strictObject(shape).meta({ id: "ReadinessSpec" }),
  },
);

export const ready = nested(readiness, { description: "How a replica shows that it takes requests." });

export const servedModel = optional(
  notation.text(z.string().min(1).max(limits.ID_CHARS_MAX), limits.ID_CHARS_MAX, "a name"),
  {
    wire: "servedModel",
    description:
      "Name of the model in requests, or an artifact to serve: `model:chat@3` is served as `chat`, and the command finds it in `$MODEL_DIR`.",
    examples: ["meta-llama/Llama-3.1-8B-Instruct"],
    otherwise: "the name of the workload",
  },
);
