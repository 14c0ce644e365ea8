/** Secrets of a Kubernetes cluster that workers get. The document names them; their values stay in the cluster. */
import { z } from "zod";
import { optional, record } from "../encoding/field.ts";
import * as notation from "../encoding/notation.ts";
import { readName } from "../encoding/read-values.ts";
import * as limits from "../limits.ts";
import * as names from "../names.ts";
import { refuse } from "../notation/reading.ts";
import { isReservedVariable } from "./environment.ts";

const keys = notation.entriesOf({
  wire: z
    .record(names.environmentName, names.secretKey)
    .refine((entries) => Object.keys(entries).length <= limits.SECRETS_MAX, {
      message: `must have at most ${limits.SECRETS_MAX} entries`,
    }),
  kind: "mapping of names to `SECRET/KEY`",
  editor: { additionalProperties: { type: "string" } },
  max: limits.SECRETS_MAX,
  readEntry: (name, value) => {
    if (!names.environmentName.safeParse(name).success)
      return refuse("is not a valid name for an environment variable");
    if (isReservedVariable(name)) return refuse("is set by Headroom for every worker and cannot be set here");
    return readName(value, names.secretKey);
  },
});

const secretList = notation.list(notation.name(names.secretName), {
  max: limits.SECRETS_MAX,
  noun: "Secrets",
  example: "[wandb]",
});

export const secrets = record(
  {
    env: optional(keys, {
      description: "Variables that get the value of a key of a Secret.",
      examples: [{ HF_TOKEN: "huggingface/token" }],
      otherwise: "none",
    }),
    envFrom: optional(secretList, {
      description: "Secrets whose keys all become variables.",
      examples: [["wandb"]],
      otherwise: "none",
    }),
    pull: optional(secretList, {
      description: "Secrets with which the image is pulled, besides those of the executor.",
      examples: [["registry"]],
      otherwise: "none",
    }),
  },
  { meant: { imagePullSecrets: "pull", secretKeyRef: "env", keys: "env" } },
);
