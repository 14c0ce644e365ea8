/** Artifacts in the registry: names, versions, aliases, places, and where a version comes from. */
import { z } from "zod";
import { count, instantMs, integer, limits, names } from "@headroom/spec";
import { pageOf, pageQuery, queryBoolean, queryInteger } from "./page.ts";

export const artifactKind = z.enum(names.artifactKinds).meta({ id: "ArtifactKind" });

export const ARTIFACT_NUMBER_MAX = 999_999_999;
const number = integer(1, ARTIFACT_NUMBER_MAX);
const fieldName = z.string().min(1).max(128);
const fieldText = z.string().max(limits.REASON_CHARS_MAX);
const withinFields = (entries: object): boolean => Object.keys(entries).length <= limits.ARTIFACT_FIELDS_MAX;
const tooManyFields = { message: `must have at most ${limits.ARTIFACT_FIELDS_MAX} entries` };

const parameters = z.record(fieldName, fieldText).refine(withinFields, tooManyFields);
const metrics = z.record(fieldName, z.number()).refine(withinFields, tooManyFields);

const uri = z
  .string()
  .min(1)
  .max(limits.PATH_CHARS_MAX)
  .regex(/^\P{Cc}*$/u, "must have no control characters");

export const artifactPlace = z
  .strictObject({
    store: names.storeName.meta({ description: "Name of the store; `local`: the file system of the executor." }),
    uri,
    state: z.enum(["verified", "declared", "missing"]).meta({
      description:
        "`verified`: bytes with the digest of the version were read there. `declared`: stated, and not read.",
    }),
  })
  .meta({ id: "ArtifactPlace" });

const digest = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, "must be sha256: and 64 hexadecimal digits")
  .nullable()
  .meta({ description: "`sha256:` and 64 hexadecimal digits; null: the bytes were not read." });

const content = {
  digest,
  bytes: z.int().nonnegative().nullable(),
  rule: names.dataRule.optional().meta({ description: "The rule of the data, as in `data.rule` of a workload." }),
  places: z.array(artifactPlace).max(limits.PLACES_MAX),
  inputs: z
    .array(names.dataset)
    .max(limits.ARTIFACT_INPUTS_MAX)
    .meta({ description: "Versions that it was made from (`dataset:default/text@2`), and other names of data." }),
  metrics: metrics.optional(),
  parameters: parameters.optional(),
};

const producer = z
  .object({
    workloadId: z.string(),
    workload: z.string(),
    attemptId: z.string(),
    task: count,
    step: count.optional(),
  })
  .meta({ id: "ArtifactProducer", description: "The attempt that made the version." });

const artifactName = { kind: artifactKind, team: z.string(), name: z.string() };

/** A version as the journal has it. */
export const registeredVersion = z
  .object({ ...artifactName, number: count, ...content, actor: z.string(), producer: producer.optional() })
  .meta({ id: "RegisteredVersion" });

const alias = names.artifactAlias;
const keepVersions = integer(1, limits.KEEP_VERSIONS_MAX);

const gateTest = z
  .strictObject({
    metric: fieldName,
    operator: z.enum(["lt", "le", "gt", "ge"]),
    value: z.number().nullable().meta({
      description: "null: that metric of the version to which the alias points; without one, the test passes.",
    }),
  })
  .meta({ id: "GateTest", description: "A condition on a metric of the version to which the alias is to point." });

export const aliasGate = z
  .strictObject({
    test: gateTest.optional(),
    approval: z
      .literal(true)
      .optional()
      .meta({ description: "The alias is moved by a proposal that another user approves. Absent: no approval." }),
  })
  .meta({ id: "AliasGate", description: "Conditions under which an alias is moved. Without any there is no gate." });

export const artifactGateRequest = z
  .strictObject({ gate: aliasGate, reason: names.reason.optional() })
  .meta({ id: "ArtifactGateRequest" });

const artifactChanges = [
  z.strictObject({
    kind: z.literal("alias"),
    alias,
    number: number.nullable().meta({ description: "null: the alias is removed." }),
  }),
  z.strictObject({
    kind: z.literal("tags"),
    number,
    tags: z
      .record(fieldName, fieldText.nullable())
      .refine(withinFields, tooManyFields)
      .meta({ description: "null removes a tag." }),
  }),
  z.strictObject({ kind: z.literal("place"), number, place: artifactPlace, removed: z.literal(true).optional() }),
  z.strictObject({ kind: z.literal("hold"), number }),
  z.strictObject({ kind: z.literal("release"), number }),
  z.strictObject({ kind: z.literal("delete"), number }),
  z.strictObject({ kind: z.literal("restore"), number }),
  z.strictObject({
    kind: z.literal("retention"),
    keepVersions: keepVersions.nullable().meta({ description: "null: every version is kept." }),
  }),
] as const;

/** Changes that members make. Gates are set by operators, with an operation of their own. */
const artifactChange = z.discriminatedUnion("kind", artifactChanges).meta({
  id: "ArtifactChange",
  description: "Moves an alias, sets tags, records a place, holds, releases, deletes or restores a version.",
});

export const recordedArtifactChange = z
  .discriminatedUnion("kind", [
    ...artifactChanges,
    z.strictObject({ kind: z.literal("gate"), alias, gate: aliasGate.nullable() }),
  ])
  .meta({ id: "RecordedArtifactChange", description: "A change as the journal has it." });

export const artifactChangeRequest = z
  .strictObject({ change: artifactChange, reason: names.reason.optional() })
  .meta({ id: "ArtifactChangeRequest" });

export const artifactRequest = z
  .strictObject({
    kind: artifactKind,
    team: names.teamName.nullable().meta({ description: "null: the team `default`." }),
    name: names.artifactName,
    ...content,
    aliases: z
      .array(alias)
      .max(limits.ALIASES_MAX)
      .optional()
      .meta({ description: "Aliases that point to the new version from now on." }),
    reason: names.reason.optional(),
  })
  .meta({ id: "ArtifactRequest" });

const note = z.object({ atMs: instantMs, actor: z.string().nullable(), reason: z.string() });
const move = note.extend({ number: count.nullable() }).meta({ id: "AliasMove" });

const versionSummary = {
  id: z.string().meta({ description: "In full, with the team: `model:default/chat@3`." }),
  ref: z.string().meta({ description: "As work of the same team writes it: `model:chat@3`." }),
  ...artifactName,
  number: count,
  digest,
  bytes: count.nullable(),
  registeredAtMs: instantMs,
  actor: z.string(),
  aliases: z.array(z.string()),
  held: z.boolean().meta({ description: "True: a legal hold keeps it." }),
  deleted: z.boolean(),
  step: count.optional().meta({ description: "Step of the run, for a checkpoint. Absent: none is known." }),
};

export const artifactVersionSummary = z.object(versionSummary).meta({ id: "ArtifactVersionSummary" });

export const artifactVersion = z
  .object({
    ...versionSummary,
    rule: z.string().optional(),
    places: z.array(artifactPlace),
    inputs: z.array(z.string()),
    metrics: z.record(z.string(), z.number()),
    parameters: z.record(z.string(), z.string()),
    tags: z.record(z.string(), z.string()),
    producer: producer.nullable(),
    hold: note.nullable(),
    deletion: note.nullable(),
    usedBy: z.array(z.string()).meta({
      description: "Aliases, versions and work that depend on it, so that it cannot be deleted; at most 100.",
    }),
    usedByCount: count,
  })
  .meta({ id: "ArtifactVersion" });

const artifactAlias = z
  .object({
    alias: z.string(),
    number: count.nullable().meta({ description: "null: the alias was removed." }),
    moves: z.array(move).meta({ description: "The newest moves, oldest first; at most 50." }),
  })
  .meta({ id: "ArtifactAlias" });

export const artifactResource = z
  .object({
    key: z.string().meta({ description: "In full, with the team: `model:default/chat`." }),
    ref: z.string(),
    ...artifactName,
    versionCount: count,
    keepVersions: count.nullable(),
    aliases: z.array(artifactAlias),
    gates: z.record(z.string(), aliasGate).meta({ description: "Gates by alias." }),
    newest: artifactVersionSummary.nullable().meta({ description: "null: every version is deleted." }),
  })
  .meta({ id: "Artifact" });

export const artifactPage = pageOf(artifactResource, "ArtifactPage");
export const artifactVersionPage = pageOf(artifactVersionSummary, "ArtifactVersionPage");

export const artifactQuery = pageQuery.extend({
  // Without the id, because parameters of a query have no shared schemas.
  kind: z.enum(names.artifactKinds).optional(),
  team: names.teamName.optional(),
  search: z.string().min(1).max(limits.SEARCH_CHARS_MAX).optional().meta({ description: "Part of the name." }),
});
export const artifactVersionQuery = pageQuery.extend({
  deleted: queryBoolean.optional().meta({ description: "Also deleted versions that can be restored." }),
});

export const artifactRegistered = z
  .object({ artifact: z.string(), ref: z.string(), number: count })
  .meta({ id: "ArtifactRegistered" });
export const artifactChanged = z
  .object({ artifact: z.string(), number: count.nullable() })
  .meta({ id: "ArtifactChanged" });

export const lineageDirection = z.enum(["up", "down", "both"]);
export const artifactLineageQuery = z.strictObject({
  direction: lineageDirection.optional().meta({ description: "`up`: what it was made from. Default: `both`." }),
  depth: queryInteger(1, 1_000).optional().meta({ description: "Most steps away. Default: all." }),
});

const lineageNode = z
  .object({
    id: z.string(),
    kind: z.enum(["artifact", "attempt", "workload", "data"]),
    title: z.string(),
    depth: z.int().meta({ description: "Steps from the version; negative: it was made from this." }),
    deleted: z.boolean(),
    places: z.array(z.string()).optional().meta({
      description: "URIs at which the bytes of an artifact are, the first five. Absent: it is none, or it has none.",
    }),
  })
  .meta({ id: "ArtifactLineageNode" });

export const artifactLineage = z
  .object({
    root: z.string(),
    nodes: z.array(lineageNode),
    edges: z.array(z.object({ from: z.string(), to: z.string() })),
    truncated: z.boolean().meta({ description: "True: there are more nodes than an answer has." }),
  })
  .meta({ id: "ArtifactLineage" });

export type ArtifactKind = z.output<typeof artifactKind>;
export type ArtifactPlace = z.output<typeof artifactPlace>;
export type ArtifactChange = z.output<typeof recordedArtifactChange>;
export type AliasGate = z.output<typeof aliasGate>;
export type GateTest = z.output<typeof gateTest>;
export type ArtifactGateRequestInput = z.input<typeof artifactGateRequest>;
export type ArtifactGateRequest = z.output<typeof artifactGateRequest>;
export type ArtifactChangeRequest = z.output<typeof artifactChangeRequest>;
export type ArtifactChangeRequestInput = z.input<typeof artifactChangeRequest>;
export type ArtifactRequest = z.output<typeof artifactRequest>;
export type ArtifactRequestInput = z.input<typeof artifactRequest>;
export type ArtifactVersion = z.output<typeof artifactVersion>;
export type ArtifactVersionSummary = z.output<typeof artifactVersionSummary>;
export type ArtifactResource = z.output<typeof artifactResource>;
export type ArtifactPage = z.output<typeof artifactPage>;
export type ArtifactVersionPage = z.output<typeof artifactVersionPage>;
export type ArtifactQuery = z.output<typeof artifactQuery>;
export type ArtifactVersionQuery = z.output<typeof artifactVersionQuery>;
export type ArtifactRegistered = z.output<typeof artifactRegistered>;
export type ArtifactChanged = z.output<typeof artifactChanged>;
export type ArtifactLineage = z.output<typeof artifactLineage>;
export type ArtifactLineageNode = z.output<typeof lineageNode>;
export type LineageDirection = z.output<typeof lineageDirection>;
