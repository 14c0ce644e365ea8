/** `kind: maintenance` and `kind: reservation`: what is planned for certain times. */
import { z } from "zod";
import type { CalendarEntry } from "./calendar-spec.ts";
import * as limits from "./limits.ts";
import * as names from "./names.ts";
import { fields, leaf, optionalLeaf, readInteger, readName, readText } from "./field.ts";
import { instantPattern, readInstant, writeInstant } from "./notation/instants.ts";
import type { FieldProblem } from "./placement-fields.ts";
import { read, refuse, shown, type Reading } from "./notation/reading.ts";
import { tariffDocument } from "./tariff-document.ts";

const instant = { type: "string", pattern: instantPattern };

/** A list of names, or one of them. */
function readNames(value: unknown, readOne: (each: unknown) => Reading<string>, max: number): Reading<string[] | null> {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length === 0 || list.length > max) return refuse(`must name 1 to ${max}, got ${shown(value)}`);
  const found: string[] = [];
  for (const each of list) {
    const reading = readOne(each);
    if (!reading.ok) return reading;
    if (found.includes(reading.value)) return refuse(`names ${reading.value} twice`);
    found.push(reading.value);
  }
  return read(found);
}

const readNodes = (value: unknown): Reading<string[] | null> =>
  readNames(value, (each) => readName(each, names.opaqueId), limits.SHAPE_NODES_MAX);
const readUser = (value: unknown): Reading<string> =>
  readText(value, { lengthMax: limits.ID_CHARS_MAX, form: "a user's name" });
const readUsers = (value: unknown): Reading<string[] | null> =>
  readNames(value, readUser, limits.RESERVATION_USERS_MAX);

const windowShape = {
  name: leaf({ description: "Unique in the calendar.", type: "string", examples: ["firmware-march"] }, (value) =>
    readName(value, names.calendarName),
  ),
  start: leaf({ description: "When it begins.", ...instant, examples: ["2027-03-01T08:00:00Z"] }, readInstant),
  end: leaf({ description: "When it is over.", ...instant, examples: ["2027-03-01T12:00:00Z"] }, readInstant),
  nodes: optionalLeaf(
    { description: "Which nodes, by name.", type: "array", items: { type: "string" } },
    null,
    readNodes,
  ),
};
const meant = { from: "start", begin: "start", begins: "start", until: "end", to: "end", ends: "end", node: "nodes" };

export const maintenanceSchema = fields(
  {
    kind: z.literal("maintenance").meta({ description: "Nodes are away for a time, and are drained before." }),
    ...windowShape,
    pool: optionalLeaf(
      { description: "All nodes of a pool, instead of `nodes`.", type: "string" },
      null,
      (value): Reading<string | null> => readName(value, names.poolName),
    ),
    reason: optionalLeaf(
      { description: "Why, for people.", type: "string", examples: ["new firmware"] },
      null,
      (value): Reading<string | null> => readText(value, { lengthMax: limits.REASON_CHARS_MAX, form: "a reason" }),
    ),
  },
  { meant },
);

export const reservationSchema = fields(
  {
    kind: z.literal("reservation").meta({ description: "Nodes are kept for a team or users for a time." }),
    ...windowShape,
    team: optionalLeaf(
      { description: "For which team, and all below it.", type: "string" },
      null,
      (value): Reading<string | null> => readName(value, names.teamName),
    ),
    users: optionalLeaf(
      { description: "For whose work, whatever its team.", type: "array", items: { type: "string" } },
      null,
      readUsers,
    ),
    accelerators: optionalLeaf(
      {
        description: "How many accelerators, on whole nodes chosen when it is applied, instead of `nodes`.",
        type: "integer",
        minimum: 1,
      },
      null,
      (value): Reading<number | null> => readInteger(value, { min: 1, max: limits.ACCELERATOR_LIMIT_MAX }),
    ),
    acceleratorType: optionalLeaf(
      { description: "Of which type they are; left out, any.", type: "string" },
      null,
      (value): Reading<string | null> => readName(value, names.acceleratorType),
    ),
  },
  { meant: { ...meant, gpus: "accelerators", gpu: "acceleratorType", user: "users", for: "team" } },
);

type WrittenWindow = z.output<typeof maintenanceSchema> | z.output<typeof reservationSchema>;

export function calendarProblems(written: WrittenWindow): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const add = (field: string, message: string): void => void problems.push({ path: [field], message });
  if (written.end <= written.start) add("end", `must lie after start, ${writeInstant(written.start)}`);
  if (written.kind === "maintenance") {
    if ((written.pool === null) === (written.nodes === null)) add("nodes", "or pool is required, one of the two");
    return problems;
  }
  const { team, users, nodes, accelerators, acceleratorType } = written;
  if (team === null && users === null) add("team", "or users is required: somebody to keep it for");
  if ((accelerators === null) === (nodes === null)) add("accelerators", "or nodes is required, one of the two");
  if (nodes !== null && acceleratorType !== null) add("acceleratorType", "must be left out where nodes are named");
  return problems;
}

export function calendarEntryOf(written: WrittenWindow): CalendarEntry {
  const { name, start: startMs, end: endMs, nodes } = written;
  const common = { name, startMs, endMs, ...(nodes === null ? {} : { nodes }) };
  if (written.kind === "maintenance") {
    const { pool, reason } = written;
    return {
      kind: "maintenance",
      ...common,
      ...(pool === null ? {} : { pool }),
      ...(reason === null ? {} : { reason }),
    };
  }
  const { team, users, accelerators, acceleratorType } = written;
  return {
    kind: "reservation",
    ...common,
    ...(team === null ? {} : { team }),
    ...(users === null ? {} : { users }),
    ...(accelerators === null ? {} : { accelerators }),
    ...(acceleratorType === null ? {} : { acceleratorType }),
  };
}

/** The document that reads back as this entry. */
export function calendarDocument(entry: CalendarEntry): Record<string, unknown> {
  if (entry.kind === "tariff") return tariffDocument(entry);
  const { startMs, endMs, ...rest } = entry;
  return { ...rest, start: writeInstant(startMs), end: writeInstant(endMs) };
}
