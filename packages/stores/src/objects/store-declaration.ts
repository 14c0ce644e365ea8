/** `kind: store`: a place of bytes that an operator declares. Secrets are references, never the secrets themselves. */
import path from "node:path";
import { z } from "zod";
import { isRegistryHost } from "../registry/oci-reference.ts";

const RESERVED_NAMES: readonly string[] = ["local"];
const CONCURRENCY_DEFAULT = 8;
/** Each transfer at once holds a buffer and a connection. */
const CONCURRENCY_MAX = 64;
const RULES_MAX = 64;
/** MiB/s. */
const THROUGHPUT_MAX = 1_000_000;
/** USD for a GiB. */
const EGRESS_MAX = 1_000;
const TEAMS_MAX = 256;
/** The team of work that names none, so that one person can start without a declaration of teams. */
const WRITERS_DEFAULT: readonly string[] = ["default"];

const plainName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, "must be at most 63 letters, digits, '.', '_' and '-'");

const team = z
  .string()
  .max(1_024)
  .regex(/^(?:\*|[A-Za-z0-9][A-Za-z0-9._-]{0,62}(?:\/[A-Za-z0-9][A-Za-z0-9._-]{0,62}){0,15})$/, {
    message: "must be a team such as research/nlp, or * for every team",
  });

const reference = z
  .string()
  .max(4096)
  .regex(/^(?:file:\/.+|env:[A-Za-z_][A-Za-z0-9_]*)$/, {
    message: "must be a reference to the secret: file:/path or env:NAME. The secret itself does not belong here",
  });

const folder = z
  .string()
  .max(4096)
  .refine(
    (each) => path.isAbsolute(each) && path.normalize(each) === each,
    "must be an absolute path without . and ..",
  );

const endpoint = z.url({ protocol: /^https?$/ }).refine((text) => {
  const { username, password, search, hash } = new URL(text);
  return username === "" && password === "" && search === "" && hash === "";
}, "must be http:// or https:// with a host, without user, password and parameters");

const prefix = z
  .string()
  .max(512)
  .regex(/^(?:[A-Za-z0-9._-]+\/)*$/, "must be empty or end with /, with letters, digits, '.', '_' and '-' between")
  .refine((each) => !each.split("/").some((part) => part === "." || part === ".."), "must not have . or ..");

const common = {
  kind: z.literal("store").meta({ description: "Kind of the document." }),
  name: plainName
    .refine((name) => !RESERVED_NAMES.includes(name), { error: `must not be ${RESERVED_NAMES.join(" or ")}` })
    .meta({ description: "Name of the store, as places of artifacts show it." }),
};

const place = {
  site: plainName.optional().meta({
    description:
      "Site at which the bytes are. Bytes for other sites are egress. Default: no site, so all reads are egress.",
  }),
  rules: z
    .array(plainName)
    .max(RULES_MAX)
    .default([])
    .meta({ description: "Data rules that the store admits. Data with another rule is never written to it." }),
  readers: z.array(team).max(TEAMS_MAX).default([]).meta({
    description: "Teams whose work can read the store, each with all teams below in its path; `*`: every team.",
  }),
  writers: z
    .array(team)
    .max(TEAMS_MAX)
    .default([...WRITERS_DEFAULT])
    .meta({ description: "Teams whose work can also upload to it." }),
  throughput: z
    .number()
    .positive()
    .max(THROUGHPUT_MAX)
    .optional()
    .meta({ description: "MiB/s of one transfer, as expected. Start estimates use it until transfers were measured." }),
  egressPerGib: z
    .number()
    .min(0)
    .max(EGRESS_MAX)
    .optional()
    .meta({ description: "Price in USD of a GiB that leaves the site of the store; default: 0." }),
  concurrency: z
    .int()
    .min(1)
    .max(CONCURRENCY_MAX)
    .default(CONCURRENCY_DEFAULT)
    .meta({ description: "Requests at the same time, of all transfers of this control plane together." }),
};

const s3 = z.strictObject({
  ...common,
  type: z.literal("s3"),
  bucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "must be 3 to 63 lower-case letters, digits, '.' and '-'")
    .meta({ description: "Bucket. `s3://BUCKET/KEY` names its objects." }),
  prefix: prefix.default("").meta({ description: "Only keys that begin with it belong to the store." }),
  endpoint: endpoint.optional().meta({ description: "Address of the service; default: that of AWS for the region." }),
  region: plainName.default("us-east-1").meta({ description: "Region." }),
  accessKey: reference.meta({ description: "Reference to the access key id: `file:/path` or `env:NAME`." }),
  secretKey: reference.meta({ description: "Reference to the secret access key: `file:/path` or `env:NAME`." }),
  ...place,
});

const oci = z.strictObject({
  ...common,
  type: z.literal("oci"),
  registry: z
    .string()
    .refine(isRegistryHost, "must be a host, with :PORT if needed")
    .meta({ description: "Registry. `oci://REGISTRY/NAME:TAG` names its artifacts." }),
  prefix: prefix.default("").meta({ description: "Only repositories whose names begin with it belong to the store." }),
  plainHttp: z.boolean().default(false).meta({ description: "HTTP in place of HTTPS." }),
  username: plainName.optional().meta({ description: "User name; default: anonymous." }),
  password: reference.optional().meta({ description: "Reference to the password: `file:/path` or `env:NAME`." }),
  ...place,
});

const shared = z.strictObject({
  ...common,
  type: z.literal("shared"),
  path: folder.meta({ description: "Folder that every node sees under this path." }),
  cached: z.boolean().default(false).meta({
    description: "Inputs are copied to the node's cache before the start. `false`: work reads them where they are.",
  }),
  ...place,
});

const local = z.strictObject({
  ...common,
  type: z.literal("local"),
  path: folder.meta({ description: "Folder of the node's cache of inputs." }),
  capacity: z
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .meta({ description: "Most bytes of the cache; default: half of what is free on its file system." }),
});

export const storeDeclaration = z.discriminatedUnion("type", [s3, oci, shared, local]);

export type StoreDeclaration = z.output<typeof storeDeclaration>;
export type CacheDeclaration = z.output<typeof local>;
/** A store that artifacts can lie in. A `local` one is only the cache of a node. */
export type PlaceDeclaration = Exclude<StoreDeclaration, CacheDeclaration>;

interface StoreProblem {
  readonly path: readonly string[];
  readonly message: string;
}

export type StoreReading =
  | { readonly ok: true; readonly declaration: StoreDeclaration }
  | { readonly ok: false; readonly problems: readonly StoreProblem[] };

/** Reads a declaration and never throws. */
export function readStore(value: unknown): StoreReading {
  const outcome = storeDeclaration.safeParse(value);
  if (outcome.success) return { ok: true, declaration: outcome.data };
  const problems = outcome.error.issues.map((issue) => ({ path: issue.path.map(String), message: issue.message }));
  return { ok: false, problems };
}

/** Problems of declarations beside each other: two stores for the same bytes would make a URI ambiguous. */
export function storeConflict(declarations: readonly StoreDeclaration[], added: StoreDeclaration): string | null {
  const others = declarations.filter(({ name }) => name !== added.name);
  const same = others.find((each) => rootOf(each) === rootOf(added));
  if (same !== undefined) return `The store ${same.name} has the same place: ${rootOf(added)}.`;
  if (added.type === "local" && others.some(({ type }) => type === "local"))
    return "A node has one cache: remove the other store of the type local first.";
  return null;
}

/** The URI with which every object of the store begins. */
export function rootOf(store: StoreDeclaration): string {
  if (store.type === "s3") return `s3://${store.bucket}/${store.prefix}`;
  if (store.type === "oci") return `oci://${store.registry}/${store.prefix}`;
  return `file://${store.path === "/" ? "" : store.path}/`;
}

/** The part of every key that the declaration states. */
export const prefixOf = (store: PlaceDeclaration): string => (store.type === "shared" ? "" : store.prefix);
