/**
 * Names that users choose. Names appear in URLs, tables, file names and environment variables, so they are plain: no
 * spaces, no control characters, no characters that a shell or terminal interprets.
 */
import { z } from "zod";
import * as limits from "./limits.ts";

const plainName = (charsMax: number): RegExp => new RegExp(`^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,${charsMax - 1}})$`);
const plainRule = "letters, digits, '.', '_' and '-', starting with a letter or digit";

/** Text without NUL, because neither the arguments nor the environment of a process can contain one. */
// oxlint-disable-next-line no-control-regex -- refusing it is the point.
const withoutNul = /^[^\u0000]*$/;

export const workloadName = z.string().max(100).regex(plainName(100), `must be at most 100 ${plainRule}`).meta({
  description:
    "A name. `headroom apply` keeps it unique within its team among workloads that have not ended; other submissions may repeat it.",
});

const teamSegment = "[A-Za-z0-9][A-Za-z0-9._-]{0,62}";

export const teamName = z
  .string()
  .max(400)
  .regex(
    new RegExp(`^${teamSegment}(?:/${teamSegment}){0,${limits.TEAM_DEPTH_MAX - 1}}$`),
    `must be a path of at most ${limits.TEAM_DEPTH_MAX} names joined by '/', each at most 63 ${plainRule}`,
  )
  .meta({ description: "A team, as a path: `research/nlp`." });

export const groupName = z
  .string()
  .max(63)
  .regex(plainName(63), `must be at most 63 ${plainRule}`)
  .meta({ description: "The name of the group, unique within its gang." });

export const setName = z.string().max(63).regex(plainName(63), `must be at most 63 ${plainRule}`);

export const dataRule = z.string().max(63).regex(plainName(63), `must be at most 63 ${plainRule}`);

export const dataset = z
  .string()
  .min(1)
  .max(limits.DATASET_CHARS_MAX)
  .regex(withoutNul, "must not contain a NUL character")
  .meta({ description: "The usual name of a data set, for example `s3://corpus/v7`." });

/** The reason that a user gives for a command. */
export const reason = z
  .string()
  .min(1)
  .max(limits.REASON_CHARS_MAX)
  .regex(withoutNul, "must not contain a NUL character")
  .meta({ description: "The reason for the command, as text." });

export const siteName = z.string().max(63).regex(plainName(63), `must be at most 63 ${plainRule}`);
export const poolName = z.string().max(63).regex(plainName(63), `must be at most 63 ${plainRule}`);
export const orderName = z.string().max(63).regex(plainName(63), `must be at most 63 ${plainRule}`);
export const metricSourceName = z.string().max(63).regex(plainName(63), `must be at most 63 ${plainRule}`);
/** Names of values in series are those of metric sources. Names that every object has are none. */
export const metricValue = z
  .string()
  .regex(
    /^(?!(?:constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|toLocaleString|toString|valueOf)$)[a-z][A-Za-z0-9]{0,62}$/,
    "must be a name such as jobsQueued",
  );
export const executorId = z.string().max(63).regex(plainName(63), `must be at most 63 ${plainRule}`);

export const calendarName = z.string().max(63).regex(plainName(63), `must be at most 63 ${plainRule}`);

/**
 * Names of accelerator types. Vendors put spaces into product names (`NVIDIA H200 NVL`), so single spaces inside a name
 * are allowed. Types are keys of records, so names that every record inherits (`constructor`) are refused.
 */
export const acceleratorType = z
  .string()
  .max(64)
  .regex(
    /^(?!(?:constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|toLocaleString|toString|valueOf)$)[A-Za-z0-9](?:[ ]?[A-Za-z0-9._+()/-])*$/,
    "must be at most 64 letters, digits, '.', '_', '+', '-', '/' and single spaces",
  );

/**
 * User names in the form that systems use for accounts: `alice`, `_runner`, `alice@example.org`. The engine joins a
 * user name to other text with spaces and line ends, so a name contains neither.
 */
export const userName = z
  .string()
  .regex(
    new RegExp(`^[A-Za-z0-9_][A-Za-z0-9._@+-]{0,${limits.USER_CHARS_MAX - 1}}$`),
    `must be 1 to ${limits.USER_CHARS_MAX} letters, digits, '.', '_', '@', '+' and '-', starting with a letter, digit or '_'`,
  );

/** An id that a client sends back. It is opaque, limited in length, and printable. */
export const opaqueId = z
  .string()
  .min(1)
  .max(limits.ID_CHARS_MAX)
  .regex(/^[!-~]+$/, "must be printable ASCII without spaces");

export const idempotencyKey = z
  .string()
  .min(1)
  .max(limits.IDEMPOTENCY_KEY_CHARS_MAX)
  .regex(/^[!-~]+$/, "must be printable ASCII without spaces");

export const commandLine = z.string().min(1).max(limits.COMMAND_CHARS_MAX).regex(withoutNul, "must not contain NUL");

/** `registry.example/team/name:tag`, or with a digest. */
export const imageName = z
  .string()
  .max(512)
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._:/@-]*$/,
    "must be the name of a container image, such as registry.example/team/name:tag",
  );

/** A name of an object of Kubernetes (DNS subdomain, RFC 1123). */
export const secretName = z
  .string()
  .max(253)
  .regex(
    /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/,
    "must be the name of a Secret of Kubernetes: lower-case letters, digits, '-' and '.'",
  );

/** `SECRET/KEY`. */
export const secretKey = z
  .string()
  .max(507)
  .regex(
    /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*\/[-._a-zA-Z0-9]{1,253}$/,
    "must be a Secret and its key, such as huggingface/token",
  );

export const absolutePath = z
  .string()
  .max(limits.PATH_CHARS_MAX)
  .regex(/^\//, "must be an absolute path")
  .regex(withoutNul, "must not contain NUL");

/** `__proto__` is refused because a record with that key is no longer a plain object. */
export const environmentName = z
  .string()
  .max(256)
  .regex(/^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]*$/, "must be letters, digits and '_', not starting with a digit");
export const environmentValue = z
  .string()
  .max(limits.ENVIRONMENT_VALUE_CHARS_MAX)
  .regex(withoutNul, "must not contain NUL");

/** Name of a domain of the fabric, or of one of its levels. */
export const fabricName = z.string().max(63).regex(plainName(63), `must be at most 63 ${plainRule}`);

/** A node id that is the key of a record. Names that every record inherits are refused. */
export const nodeName = opaqueId.regex(/^(?!__proto__$|constructor$|toString$|valueOf$|hasOwnProperty$)/);

/** Name of a node label, used by selectors and as a topology key. */
export const labelName = z
  .string()
  .max(128)
  .regex(
    /^(?!(?:constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|toLocaleString|toString|valueOf)$)[A-Za-z0-9][A-Za-z0-9._/-]*$/,
    "must be at most 128 letters, digits, '.', '_', '/' and '-', starting with a letter or digit",
  );
export const labelValue = z
  .string()
  .max(256)
  .regex(/^[!-~](?:[ ]?[!-~])*$/, "must be printable ASCII with only single spaces");

const labelCount = (entries: Readonly<Record<string, string>>): boolean =>
  Object.keys(entries).length <= limits.LABELS_MAX;
export const labels = z
  .record(labelName, labelValue)
  .refine(labelCount, { message: `must have at most ${limits.LABELS_MAX} entries` });

/** Name of an artifact. It becomes part of the name of an environment variable. */
export const artifactName: z.ZodString = z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,62}$/, {
  message: "must begin with a letter and have at most 63 letters, digits, - and _",
});
export const artifactAlias: z.ZodString = z.string().regex(/^(?!latest$)[A-Za-z][A-Za-z0-9._-]{0,62}$/, {
  message: "must begin with a letter, have at most 63 letters, digits, '.', '_' and '-', and not be latest",
});
export const artifactKinds = ["dataset", "checkpoint", "model", "image", "report"] as const;
/** The notation of an artifact; the registry reads it. */
export const artifactRef: z.ZodString = z
  .string()
  .max(limits.ARTIFACT_REF_CHARS_MAX)
  .regex(new RegExp(`^(?:${artifactKinds.join("|")}):[A-Za-z0-9._/@-]+$`), {
    message: "must be like model:chat, model:chat@3, model:chat@production or model:TEAM/chat@3",
  });
export const storeName: z.ZodString = z.string().max(63).regex(plainName(63), `must be at most 63 ${plainRule}`);

/** A product of a workload: a plain name, or an artifact that is registered, such as `model:chat`. */
export const producedName: z.ZodString = z
  .string()
  .regex(new RegExp(`^(?:(?:${artifactKinds.join("|")}):)?[A-Za-z][A-Za-z0-9_-]{0,62}$`), {
    message:
      "must be a name of a letter and at most 62 letters, digits, - and _, or an artifact without a version: model:chat, dataset:NAME, checkpoint:NAME, image:NAME or report:NAME",
  });

/** Name of a step or a parameter of a pipeline. It has no dot, which separates a step from its result. */
export const stepName: z.ZodString = z.string().regex(/^(?!params$)[A-Za-z][A-Za-z0-9_-]{0,39}$/, {
  message: "must begin with a letter and have at most 40 letters, digits, - and _; params is reserved",
});
export const paramValue = z.string().max(limits.PARAM_CHARS_MAX).regex(withoutNul, "must not contain a NUL character");

/** NVIDIA's name for a MIG profile: sevenths of the compute, and memory. */
export const migProfile = z
  .string()
  .regex(
    /^[12347]g\.[1-9][0-9]{0,2}gb$/,
    "must be the name of a part of a divided accelerator, e.g. 1g.10gb or 3g.40gb",
  );

/** Name of a notification channel that the operator declares. */
export const channelName: z.ZodString = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, {
  message: "must have at most 63 lower-case letters, digits and -",
});
