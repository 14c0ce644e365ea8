/** `kind: team`: a node of the quota tree. */
import { z } from "zod";
import type { FieldProblem } from "./document-problem.ts";
import {
  defaulted,
  listOf,
  literal,
  nullable,
  optional,
  record,
  required,
  type WrittenFields,
} from "./encoding/field.ts";
import * as notation from "./encoding/notation.ts";
import { priority } from "./encoding/priority.ts";
import { readInteger } from "./encoding/read-values.ts";
import * as limits from "./limits.ts";
import * as names from "./names.ts";
import * as quantities from "./notation/quantities.ts";
import { read, refuse, shown, type Reading } from "./notation/reading.ts";

/**
 * Names of resources other than accelerator types. Units on the wire: accelerators of all types, thousandths of a core,
 * MiB, Gbps.
 */
export const resourceNames = {
  allAccelerators: "accelerators",
  cores: "cores",
  memory: "memory",
  network: "networkGbps",
} as const;

/** Resources that are stated in whole units. */
const wholeResources: ReadonlySet<string> = new Set([resourceNames.cores, resourceNames.memory, resourceNames.network]);

const amountRange = { min: 0, max: limits.AMOUNT_MAX };

/** Reads an amount in the unit of the API: accelerators, thousandths of a core, MiB, Gbps. */
function readAmount(resource: string, value: unknown): Reading<number> {
  if (resource === resourceNames.cores) return quantities.readCores(value, amountRange);
  if (resource === resourceNames.memory) return quantities.readMemory(value, amountRange);
  if (resource === resourceNames.network) return readInteger(value, amountRange);
  if (!names.acceleratorType.safeParse(resource).success)
    return refuse("is not the name of an accelerator type, nor accelerators, cores, memory or networkGbps");
  if (typeof value !== "number" || Number.isInteger(value))
    return readInteger(value, { min: 0, max: limits.ACCELERATOR_LIMIT_MAX });
  const range = { min: 0, max: limits.ACCELERATOR_LIMIT_MAX * 1000 };
  const reading = quantities.readThousandths(value, { range, noun: "an accelerator" });
  return reading.ok ? read(reading.value / 1000) : reading;
}

function writeAmount(resource: string, amount: number): unknown {
  if (resource === resourceNames.cores) return quantities.writeCores(amount);
  return resource === resourceNames.memory ? quantities.writeMemory(amount) : amount;
}

function amountFault(resource: string, amount: number): string | null {
  if (wholeResources.has(resource)) return Number.isInteger(amount) ? null : "must be a whole number";
  if (amount > limits.ACCELERATOR_LIMIT_MAX) return `must be between 0 and ${limits.ACCELERATOR_LIMIT_MAX}`;
  // The tolerance is larger than the rounding error of a double for every allowed amount.
  const milli = amount * 1000;
  return Math.abs(milli - Math.round(milli)) < 1e-4 ? null : "must be a whole number of thousandths";
}

const amounts = notation.entriesOf({
  wire: z
    .record(names.acceleratorType, z.number().min(0).max(limits.AMOUNT_MAX))
    .refine((entries) => Object.keys(entries).length <= limits.AMOUNT_KINDS_MAX, {
      message: `must have at most ${limits.AMOUNT_KINDS_MAX} entries`,
    })
    .check(({ value, issues }) => {
      for (const [resource, amount] of Object.entries(value)) {
        const message = amountFault(resource, amount);
        if (message !== null) issues.push({ code: "custom", input: amount, path: [resource], message });
      }
    })
    .meta({
      id: "Amounts",
      description:
        "Amounts by resource: an accelerator type, `accelerators` (all types; to the thousandth), `cores` (thousandths), `memory` (MiB), `networkGbps`.",
    }),
  kind: "amounts by accelerator type, `accelerators` (all types), `cores`, `memory`, `networkGbps`",
  editor: { additionalProperties: { type: ["number", "string"] } },
  max: limits.AMOUNT_KINDS_MAX,
  readEntry: readAmount,
  writeEntry: writeAmount,
});

const preemption = record(
  {
    within: defaulted(notation.choice(["never", "lowerPriority"]), "lowerPriority", {
      description: "Which work of the same team its work can preempt.",
    }),
    reclaim: defaulted(notation.choice(["never", "lowerPriority", "any"]), "any", {
      description: "Which work of teams above their guarantee its work can preempt.",
    }),
    whileBorrowing: optional(
      record({
        priorityMax: required(notation.integer(-limits.PRIORITY_MAX, limits.PRIORITY_MAX), {
          description: "Limit for the priority of victims: it must be below the preemptor's own, and at most this.",
        }),
      }),
      { description: "Which work its work can preempt while the team itself borrows.", otherwise: "none" },
    ),
  },
  {
    meant: { withinTeam: "within", own: "within", others: "reclaim", borrowing: "whileBorrowing" },
    wire: (shape) => z.strictObject({ ...shape, within: shape.within.unwrap(), reclaim: shape.reclaim.unwrap() }),
  },
);

const count = notation.integer(1, limits.ACCELERATOR_LIMIT_MAX);
const ids = (noun: string, max: number) =>
  notation.list(notation.name(names.opaqueId), { max, noun, example: `[${noun}]`, mayRepeat: true });

const reservedTopology = record(
  {
    within: required(notation.name(names.fabricName), {
      description:
        "The kind of cell: a domain of this level of the fabric, a whole node, or a group of accelerators in a node.",
      examples: ["leaf", "node", "group"],
    }),
    accelerators: required(count, { description: "Number of accelerators of one cell." }),
    count: required(count, { description: "Cells." }),
    accelerator: optional(notation.name(names.acceleratorType), {
      wire: "acceleratorType",
      description: "Accelerator type of the cells.",
      otherwise: "any",
    }),
    domain: optional(ids("domains", limits.FABRIC_LEVELS_MAX), {
      description: "Domains of the fabric that contain the cells, the widest first.",
      otherwise: "anywhere",
    }),
    nodes: optional(ids("nodes", limits.SHAPE_NODES_MAX), {
      description: "Nodes that are the cells, or contain the cells.",
      otherwise: "any that fit",
    }),
  },
  { meant: { gpus: "accelerators", type: "accelerator", acceleratorType: "accelerator", level: "within" } },
);

const MICRO = 1_000_000;
export const dollars = notation.scalar({
  wire: limits.integer(0, limits.BUDGET_MICRO_USD_MAX),
  unit: "Micro-dollars.",
  kind: "number",
  editor: { type: "number", minimum: 0 },
  read: (value) =>
    typeof value === "number" && value >= 0 && value * MICRO <= limits.BUDGET_MICRO_USD_MAX
      ? read(Math.round(value * MICRO))
      : refuse(`must be a number of dollars from 0 on, got ${shown(value)}`),
  write: (microUsd) => microUsd / MICRO,
});

const budget = record(
  {
    gpuHours: optional(notation.number(0, limits.AMOUNT_MAX, "of hours from 0 on"), {
      description: "Accelerator-hours; a fraction counts as its fraction.",
      otherwise: "not bounded",
    }),
    usd: optional(dollars, {
      wire: "microUsd",
      description: "Dollars, computed with the prices of the pools.",
      otherwise: "not bounded",
    }),
    period: defaulted(notation.choice(["month", "total"]), "month", {
      description: "`month`: the budget is renewed at the start of every month in UTC. `total`: it is never renewed.",
    }),
    over: defaulted(notation.choice(["warn", "hold", "stop"]), "warn", {
      description:
        "Effect when the budget is used up. `warn` records it, `hold` starts no more work, `stop` also stops running work.",
    }),
  },
  {
    meant: { hours: "gpuHours", money: "usd", dollars: "usd", per: "period", hard: "over", action: "over" },
    check: ({ gpuHours, usd }) => (gpuHours === null && usd === null ? "must bound gpuHours, usd or both" : undefined),
    wire: (shape) =>
      z
        .strictObject({ ...shape, period: shape.period.unwrap(), over: shape.over.unwrap() })
        .refine(({ gpuHours, microUsd }) => gpuHours !== undefined || microUsd !== undefined, {
          message: "must bound hours, money or both",
        })
        .meta({ id: "Budget" }),
  },
);

const quota = (description: string, example: Readonly<Record<string, unknown>>, otherwise: string) =>
  optional(amounts, { description, examples: [example], otherwise });

const fields = {
  name: required(notation.name(names.teamName), {
    description: "The team's path, which names its parent: research/nlp belongs to research.",
  }),
  parent: nullable(notation.name(names.teamName), {
    description: "The parent team; needed only if the name is not a path.",
    otherwise: "none",
  }),
  guarantee: quota(
    "Capacity that is reclaimed for the team whenever its work requests it.",
    { "H100-SXM": 128, cores: 512, memory: "4TiB" },
    "none",
  ),
  limit: defaulted(
    amounts,
    {},
    {
      description: "Maximum amounts that the team and all teams below it hold at once.",
      examples: [{ "H100-SXM": 256 }],
      otherwise: "none",
    },
  ),
  userLimit: quota(
    "Maximum amounts that the work of one user holds at once in the team and all teams below it.",
    { accelerators: 16 },
    "the same as the team",
  ),
  weight: optional(notation.number(0, limits.WEIGHT_MAX), {
    description:
      "Weight among its siblings for capacity beyond all guarantees. With 0, the team gets such capacity only if no sibling requests it. Cores and memory beyond guarantees are divided evenly, unless the policy's `strategy` is `armada`.",
    otherwise: "1",
  }),
  lendingLimit: quota(
    "Part of its unused guarantee that siblings can use.",
    { "H100-SXM": 64 },
    "the whole unused guarantee",
  ),
  borrowingLimit: quota("Maximum amounts beyond its guarantee.", { "H100-SXM": 64 }, "up to its limit"),
  priority: optional(priority, {
    description: "Priority among its siblings; the larger goes first.",
    otherwise: "`normal`",
  }),
  preemption: optional(preemption, { description: "Which work the team's waiting work can preempt." }),
  budget: optional(budget, {
    description: "Limit on what the team and all teams below it use up over time.",
    otherwise: "not bounded",
  }),
  reservedTopology: optional(
    listOf(reservedTopology, {
      max: limits.TEAM_SHAPES_MAX,
      error: (value) => `must be a list of shapes, got ${shown(value)}`,
    }),
    { description: "Cells of accelerators that the team owns (reserved topology)." },
  ),
};

const meant = {
  quota: "guarantee",
  deserved: "guarantee",
  nominalQuota: "guarantee",
  min: "guarantee",
  reserved: "guarantee",
  max: "limit",
  limits: "limit",
  perUser: "userLimit",
  userLimits: "userLimit",
  limitPerUser: "userLimit",
  capability: "limit",
  share: "weight",
  shares: "weight",
  fairShare: "weight",
  lending: "lendingLimit",
  borrowing: "borrowingLimit",
};

const spec = record(fields, { wire: (shape) => z.strictObject(shape).meta({ id: "TeamSpec" }) });
export const teamSpec = spec.wire;
export type TeamSpec = z.output<typeof teamSpec>;

export const team = record({ kind: literal("team", "A team is a node of the quota tree."), ...fields }, { meant });
export type WrittenTeam = WrittenFields<typeof team.parts>;

/** The parent that a team's path implies; `null`: the name is not a path. */
function impliedParent(name: string): string | null {
  const slash = name.lastIndexOf("/");
  return slash < 0 ? null : name.slice(0, slash);
}

export function teamProblems({ name, parent }: WrittenTeam): FieldProblem[] {
  const implied = impliedParent(name);
  if (parent === null || implied === null || parent === implied) return [];
  return [{ path: ["parent"], message: `must be ${implied}, which the name ${name} implies, got ${shown(parent)}` }];
}

export const teamOf = (written: WrittenTeam): TeamSpec => {
  const implied = { ...written, parent: written.parent ?? impliedParent(written.name) };
  return spec.toWire(implied) as TeamSpec;
};

/** Converts a team to the document from which reading gives the same team. */
export const teamDocument = (declared: TeamSpec): Record<string, unknown> => ({
  kind: "team",
  ...(spec.toManifest(declared) as object),
});
