/** Tokens of people and programs: each acts as one user, with one role on a team and the teams below it. */
import { z } from "zod";
import { count, instantMs, integer, limits, names } from "@headroom/spec";
import { pageOf } from "./page.ts";
import { roles } from "./roles.ts";

/** Maximum number of characters of a token's name. */
const NAME_CHARS_MAX = 63;

const role = z.enum(roles).meta({
  id: "Role",
  description:
    "`viewer`: reads; `member`: also submits work, and changes the work of its own user; `operator`: also changes the work of others, nodes and the calendar; `admin`: also teams, tokens and the policy. Nodes, calendar and policy need the role on the whole control plane.",
});
const team = names.teamName.nullable().meta({
  description: "The role holds for this team and the teams below it; null: for the whole control plane.",
});
const name = z
  .string()
  .max(NAME_CHARS_MAX)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, "must be letters, digits, '.', '_' and '-', starting with a letter or digit")
  .meta({ description: "A name for people, unique among the active tokens: `alice-laptop`, `ci`." });

export const accessToken = z
  .object({
    id: z.string().meta({ description: "The public part of the token." }),
    name,
    user: names.userName.meta({ description: "The user as whom the token acts. Workloads belong to users." }),
    team,
    role,
    createdAtMs: instantMs,
    createdBy: z.string(),
    expiresAtMs: instantMs.nullable().meta({ description: "null: it does not expire." }),
    revokedAtMs: instantMs.nullable(),
    lastUsedAtMs: instantMs.nullable().meta({ description: "To the minute; null: never used." }),
  })
  .meta({ id: "AccessToken" });

export const tokenRequest = z
  .strictObject({
    name,
    user: names.userName,
    team: team.default(null),
    role,
    expiresInMs: integer(1, limits.DURATION_MS_MAX)
      .optional()
      .meta({ description: "Time from now until the token expires; absent: it does not expire." }),
  })
  .meta({ id: "TokenRequest" });

export const tokenPage = pageOf(accessToken, "TokenPage");
export const tokenCreated = z
  .object({
    token: accessToken,
    secret: z.string().meta({ description: "The token itself. It is shown once; the control plane keeps its digest." }),
  })
  .meta({ id: "TokenCreated" });
export const tokenRevoked = z.object({ id: z.string(), name: z.string() }).meta({ id: "TokenRevoked" });

/** A token as a gateway checks it: by its digest. */
export const followedToken = z
  .object({
    name,
    team: names.teamName,
    sha256: z.string().meta({ description: "SHA-256 of the whole token, in hex digits." }),
    expiresAtMs: instantMs.nullable(),
  })
  .meta({ id: "FollowedToken" });

export const followedTokens = z
  .object({
    version: z.string().meta({ description: "Changes with the list." }),
    items: z.array(followedToken).nullable().meta({ description: "null: the list still has the version `known`." }),
  })
  .meta({ id: "FollowedTokens" });

export const identity = z
  .object({
    user: z.string(),
    token: z.string().nullable().meta({ description: "Name of the token; null: the token of the state directory." }),
    team,
    role,
    expiresAtMs: instantMs.nullable(),
  })
  .meta({ id: "Identity" });

export const denial = z
  .object({
    atMs: instantMs,
    user: z.string(),
    token: z.string().nullable(),
    operation: z.string(),
    permission: z.string(),
    name: z.string().nullable().meta({ description: "The resource that the request named; null: it named none." }),
    count: count.meta({ description: "Equal requests that were denied in a row." }),
  })
  .meta({ id: "Denial" });
export const denialList = z
  .object({ items: z.array(denial).meta({ description: "The newest first; at most 1,000 since the start." }) })
  .meta({ id: "DenialList" });

export type AccessToken = z.output<typeof accessToken>;
export type TokenRequest = z.output<typeof tokenRequest>;
export type TokenRequestInput = z.input<typeof tokenRequest>;
export type TokenPage = z.output<typeof tokenPage>;
export type TokenCreated = z.output<typeof tokenCreated>;
export type TokenRevoked = z.output<typeof tokenRevoked>;
export type FollowedTokens = z.output<typeof followedTokens>;
export type Identity = z.output<typeof identity>;
export type Denial = z.output<typeof denial>;
export type DenialList = z.output<typeof denialList>;
