/** `kind: team`: a node of the quota tree. */
import { z } from "zod";
import * as limits from "./limits.ts";
import * as names from "./names.ts";
import { resourceNames, type TeamSpec } from "./team-spec.ts";
import { entries, fields, leaf, optionalLeaf, readChoice, readInteger, readName } from "./field.ts";
import { priorityHint, readPriority, writePriority } from "./notation/priorities.ts";
import * as quantities from "./notation/quantities.ts";
import { read, refuse, shown, type Reading } from "./notation/reading.ts";

const acceleratorRange = { min: 0, max: limits.ACCELERATOR_LIMIT_MAX };
const milliRange = { min: 0, max: limits.ACCELERATOR_LIMIT_MAX * 1000 };
const amountRange = { min: 0, max: limits.AMOUNT_MAX };
const priorityRange = { min: -limits.PRIORITY_MAX, max: limits.PRIORITY_MAX };
const countRange = { min: 1, max: limits.ACCELERATOR_LIMIT_MAX };

const readTeamName = (value: unknown): Reading<string> => readName(value, names.teamName);

/** In the unit of the wire: accelerators, thousandths of a core, MiB. */
function readAmount(resource: string, value: unknown): Reading<number> {
  if (resource === resourceNames.cores) return quantities.readCores(value, amountRange);
  if (resource === resourceNames.memory) return quantities.readMemory(value, amountRange);
  if (!names.acceleratorType.safeParse(resource).success) {
    return refuse("is no name of an accelerator type, and not accelerators, cores or memory");
  }
  if (typeof value !== "number" || Number.isInteger(value)) return readInteger(value, acceleratorRange);
  const reading = quantities.readThousandths(value, { range: milliRange, noun: "an accelerator" });
  return reading.ok ? read(reading.value / 1000) : reading;
}

const amounts = (description: string, example: Record<string, unknown>) =>
  entries(
    {
      description: `${description} By accelerator type, accelerators (all types), cores, memory.`,
      additionalProperties: { type: ["number", "string"] },
      examples: [example],
    },
    limits.AMOUNT_KINDS_MAX,
    readAmount,
  );

const withinChoices = ["never", "lowerPriority"] as const;
const reclaimChoices = ["never", "lowerPriority", "any"] as const;

const preemptionFields = fields(
  {
    within: optionalLeaf(
      { description: "Of its own work.", enum: [...withinChoices], default: "lowerPriority" },
      "lowerPriority" as const,
      (value): Reading<(typeof withinChoices)[number]> => readChoice(value, withinChoices),
    ),
    reclaim: optionalLeaf(
      {
        description: "Of teams that hold more than their guarantee.",
        enum: [...reclaimChoices],
        default: "any",
      },
      "any" as const,
      (value): Reading<(typeof reclaimChoices)[number]> => readChoice(value, reclaimChoices),
    ),
    whileBorrowing: fields({
      priorityMax: leaf(
        {
          description: "Work of lower priority than its own, at most this.",
          type: "integer",
          minimum: priorityRange.min,
          maximum: priorityRange.max,
        },
        (value) => readInteger(value, priorityRange),
      ),
    })
      .optional()
      .meta({ description: "While it borrows itself; left out, nobody's." }),
  },
  { meant: { withinTeam: "within", own: "within", others: "reclaim", borrowing: "whileBorrowing" } },
);

const shapeFields = fields(
  {
    within: leaf(
      {
        description:
          "What one cell is: a domain of this level of the fabric, a whole node, or a group of accelerators in one.",
        type: "string",
        examples: ["leaf", "node", "group"],
      },
      (value) => readName(value, names.acceleratorType),
    ),
    accelerators: leaf({ description: "How many accelerators one cell has.", type: "integer", minimum: 1 }, (value) =>
      readInteger(value, countRange),
    ),
    count: leaf({ description: "How many such cells.", type: "integer", minimum: 1 }, (value) =>
      readInteger(value, countRange),
    ),
    accelerator: optionalLeaf(
      { description: "Their type; left out, any.", type: "string" },
      null,
      (value): Reading<string | null> => readName(value, names.acceleratorType),
    ),
    domain: optionalLeaf(
      {
        description: "The domains of the fabric in which the cells lie, the widest first; left out, anywhere.",
        type: "array",
        items: { type: "string" },
      },
      null,
      (value) => readIds(value, { noun: "domains", max: limits.FABRIC_LEVELS_MAX }),
    ),
    nodes: optionalLeaf(
      {
        description: "Nodes of which the cells are, or in which they lie; left out, any that fit.",
        type: "array",
        items: { type: "string" },
      },
      null,
      (value) => readIds(value, { noun: "nodes", max: limits.SHAPE_NODES_MAX }),
    ),
  },
  { meant: { gpus: "accelerators", type: "accelerator", acceleratorType: "accelerator", level: "within" } },
);

interface IdList {
  readonly noun: string;
  readonly max: number;
}

function readIds(value: unknown, { noun, max }: IdList): Reading<readonly string[] | null> {
  if (!Array.isArray(value)) return refuse(`must be a list of ${noun}, got ${shown(value)}`);
  if (value.length > max) return refuse(`must name at most ${max} ${noun}, got ${value.length}`);
  const ids: string[] = [];
  for (const each of value) {
    const reading = readName(each, names.opaqueId);
    if (!reading.ok) return reading;
    ids.push(reading.value);
  }
  return read(ids);
}

const periods = ["month", "total"] as const;
const whenOver = ["warn", "hold", "stop"] as const;

const budgetFields = fields(
  {
    gpuHours: optionalLeaf(
      { description: "Hours of one accelerator; a share counts as its part.", type: "number", minimum: 0 },
      null,
      readHours,
    ),
    usd: optionalLeaf(
      { description: "Money in dollars, by the prices of the pools.", type: "number", minimum: 0 },
      null,
      readDollars,
    ),
    period: optionalLeaf(
      { description: "Anew with every month in UTC, or once.", enum: [...periods], default: "month" },
      "month" as const,
      (value): Reading<(typeof periods)[number]> => readChoice(value, periods),
    ),
    over: optionalLeaf(
      {
        description: "Once used up: record it; start nothing; stop what runs, too.",
        enum: [...whenOver],
        default: "warn",
      },
      "warn" as const,
      (value): Reading<(typeof whenOver)[number]> => readChoice(value, whenOver),
    ),
  },
  { meant: { hours: "gpuHours", money: "usd", dollars: "usd", per: "period", hard: "over", action: "over" } },
).refine(({ gpuHours, usd }) => gpuHours !== null || usd !== null, { message: "must bound gpuHours, usd or both" });

const MICRO = 1_000_000;

function readHours(value: unknown): Reading<number | null> {
  const isAmount = typeof value === "number" && value >= 0 && value <= limits.AMOUNT_MAX;
  return isAmount ? read(value) : refuse(`must be a number of hours from 0 on, got ${shown(value)}`);
}

function readDollars(value: unknown): Reading<number | null> {
  const isAmount = typeof value === "number" && value >= 0 && value * MICRO <= limits.BUDGET_MICRO_USD_MAX;
  return isAmount
    ? read(Math.round(value * MICRO))
    : refuse(`must be a number of dollars from 0 on, got ${shown(value)}`);
}

function budgetOf({ gpuHours, usd, period, over }: z.output<typeof budgetFields>): NonNullable<TeamSpec["budget"]> {
  return {
    ...(gpuHours === null ? {} : { gpuHours }),
    ...(usd === null ? {} : { microUsd: usd }),
    period,
    over,
  };
}

function budgetText({ microUsd, ...rest }: NonNullable<TeamSpec["budget"]>): Record<string, unknown> {
  return microUsd === undefined ? rest : { ...rest, usd: microUsd / MICRO };
}

export const teamSchema = fields(
  {
    kind: z.literal("team").meta({ description: "A node of the quota tree." }),
    name: leaf(
      { description: "A path names its parent: research/nlp belongs to research.", type: "string" },
      readTeamName,
    ),
    parent: optionalLeaf(
      { description: "The team above; needed only where the name is no path.", type: "string" },
      null,
      (value): Reading<string | null> => readTeamName(value),
    ),
    guarantee: amounts("What the team gets back whenever it asks.", { "H100-SXM": 128, cores: 512, memory: "4TiB" }),
    limit: amounts("The most that the team and everything below it may hold at once.", { "H100-SXM": 256 }),
    userLimit: amounts("The most that the work of any one user of it may hold at once; left out, as the team may.", {
      accelerators: 16,
    }),
    weight: optionalLeaf(
      {
        description:
          "Its part of what nobody's guarantee covers, against its siblings; 0: nothing while others want it.",
        type: "number",
        minimum: 0,
        maximum: limits.WEIGHT_MAX,
        default: 1,
      },
      null,
      readWeight,
    ),
    lendingLimit: amounts("How much of its guarantee others may use while it does not; left out, all of it.", {
      "H100-SXM": 64,
    }),
    borrowingLimit: amounts("How much beyond its guarantee it may use; left out, up to its limit.", {
      "H100-SXM": 64,
    }),
    priority: optionalLeaf(
      { description: "Among its siblings: larger is served first.", ...priorityHint, default: "normal" },
      null,
      (value): Reading<number | null> => readPriority(value),
    ),
    preemption: preemptionFields.optional().meta({ description: "Whose work its waiting work may evict." }),
    budget: budgetFields.optional().meta({ description: "What it and all below it may use up over time." }),
    reservedTopology: z
      .array(shapeFields, { error: ({ input }) => `must be a list of shapes, got ${shown(input)}` })
      .max(limits.TEAM_SHAPES_MAX)
      .optional()
      .meta({ description: "Accelerators that hang together, owned by the team." }),
  },
  {
    meant: {
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
    },
  },
);

function readWeight(value: unknown): Reading<number | null> {
  const isWeight = typeof value === "number" && value >= 0 && value <= limits.WEIGHT_MAX;
  return isWeight ? read(value) : refuse(`must be a number between 0 and ${limits.WEIGHT_MAX}, got ${shown(value)}`);
}

/** The parent that a path implies, or `null` where the name is no path. */
function impliedParent(name: string): string | null {
  const slash = name.lastIndexOf("/");
  return slash < 0 ? null : name.slice(0, slash);
}

type WrittenTeam = z.output<typeof teamSchema>;
type Amounts = Readonly<Record<string, number>>;

const given = (
  name: "userLimit" | "guarantee" | "lendingLimit" | "borrowingLimit",
  amount: Amounts,
): Partial<TeamSpec> => (Object.keys(amount).length === 0 ? {} : { [name]: amount });

/** The team, or what is wrong between its name and its parent. */
export function teamOf(written: WrittenTeam): Reading<TeamSpec> {
  const { name, parent, limit, weight, priority, preemption, reservedTopology } = written;
  const implied = impliedParent(name);
  const { budget } = written;
  if (parent !== null && implied !== null && parent !== implied) {
    return refuse(`must be ${implied}, which the name ${name} implies, got ${shown(parent)}`);
  }
  return read({
    name,
    parent: parent ?? implied,
    limit,
    ...given("userLimit", written.userLimit),
    ...given("guarantee", written.guarantee),
    ...(weight === null ? {} : { weight }),
    ...given("lendingLimit", written.lendingLimit),
    ...given("borrowingLimit", written.borrowingLimit),
    ...(priority === null ? {} : { priority }),
    ...(preemption === undefined ? {} : { preemption }),
    ...(budget === undefined ? {} : { budget: budgetOf(budget) }),
    ...(reservedTopology === undefined || reservedTopology.length === 0
      ? {}
      : { reservedTopology: reservedTopology.map(shapeOf) }),
  });
}

type WrittenShape = NonNullable<WrittenTeam["reservedTopology"]>[number];

type ReservedTopologyFields = NonNullable<TeamSpec["reservedTopology"]>[number];

const shapeOf = ({ accelerator, domain, nodes, ...shape }: WrittenShape): ReservedTopologyFields => ({
  ...shape,
  ...(accelerator === null ? {} : { acceleratorType: accelerator }),
  ...(domain === null ? {} : { domain: [...domain] }),
  ...(nodes === null ? {} : { nodes: [...nodes] }),
});

const shapeText = ({ acceleratorType, ...shape }: ReservedTopologyFields): Record<string, unknown> =>
  acceleratorType === undefined ? { ...shape } : { ...shape, accelerator: acceleratorType };

/** Amounts in the units in which people write them. */
function amountsText(amount: Amounts): Record<string, unknown> {
  const entry = ([resource, value]: [string, number]): [string, unknown] => {
    if (resource === resourceNames.cores) return [resource, quantities.writeCores(value)];
    return [resource, resource === resourceNames.memory ? quantities.writeMemory(value) : value];
  };
  return Object.fromEntries(Object.entries(amount).map(entry));
}

/** The document that reads back as this team. */
export function teamDocument(team: TeamSpec): Record<string, unknown> {
  const text: Record<string, unknown> = { kind: "team", name: team.name };
  if (team.parent !== null) text["parent"] = team.parent;
  for (const field of ["guarantee", "limit", "userLimit", "lendingLimit", "borrowingLimit"] as const) {
    const amount = team[field] ?? {};
    if (Object.keys(amount).length > 0) text[field] = amountsText(amount);
  }
  if (team.weight !== undefined) text["weight"] = team.weight;
  if (team.priority !== undefined) text["priority"] = writePriority(team.priority);
  if (team.preemption !== undefined) text["preemption"] = { ...team.preemption };
  if (team.budget !== undefined) text["budget"] = budgetText(team.budget);
  if (team.reservedTopology !== undefined) text["reservedTopology"] = team.reservedTopology.map(shapeText);
  return text;
}
