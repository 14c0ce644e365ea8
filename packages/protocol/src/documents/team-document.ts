/** `kind: team`: a node of the quota tree. */
import { z } from "zod";
import { ACCELERATOR_LIMIT_MAX } from "../limits.ts";
import * as names from "../names.ts";
import type { TeamSpec } from "../team.ts";
import { entries, fields, leaf, optionalLeaf, readInteger, readName } from "./field.ts";
import { read, refuse, shown, type Reading } from "./reading.ts";

const limitRange = { min: 0, max: ACCELERATOR_LIMIT_MAX };
/** Far more types than any fleet has. */
const LIMIT_TYPES_MAX = 64;

const readTeamName = (value: unknown): Reading<string> => readName(value, names.teamName);

function readLimit(type: string, value: unknown): Reading<number> {
  if (!names.acceleratorType.safeParse(type).success) return refuse("is no name of an accelerator type");
  return readInteger(value, limitRange);
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
    limit: entries(
      {
        description: "The most accelerators of each type that the team and everything below it may hold at once.",
        additionalProperties: { type: "integer", minimum: limitRange.min, maximum: limitRange.max },
        examples: [{ "H100-SXM": 256 }],
      },
      LIMIT_TYPES_MAX,
      readLimit,
    ),
  },
  {
    later: ["guarantee", "weight", "budget", "lending", "borrowing"],
    meant: { quota: "limit", max: "limit", limits: "limit" },
  },
);

/** The parent that a path implies, or `null` where the name is no path. */
function impliedParent(name: string): string | null {
  const slash = name.lastIndexOf("/");
  return slash < 0 ? null : name.slice(0, slash);
}

/** The team, or what is wrong between its name and its parent. */
export function teamOf(written: z.output<typeof teamSchema>): Reading<TeamSpec> {
  const implied = impliedParent(written.name);
  if (written.parent !== null && implied !== null && written.parent !== implied) {
    return refuse(`must be ${implied}, which the name ${written.name} implies, got ${shown(written.parent)}`);
  }
  return read({ name: written.name, parent: written.parent ?? implied, limit: written.limit });
}

/** The document that reads back as this team. */
export function teamDocument(team: TeamSpec): Record<string, unknown> {
  const text: Record<string, unknown> = { kind: "team", name: team.name };
  if (team.parent !== null) text["parent"] = team.parent;
  if (Object.keys(team.limit).length > 0) text["limit"] = { ...team.limit };
  return text;
}
