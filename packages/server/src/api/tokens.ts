/** Handlers about access tokens, and about requests that were denied. */
import type { ReadonlyState } from "@headroom/engine";
import type { TeamName } from "@headroom/model";
import { ProblemError, checkedUser, refuse } from "@headroom/protocol";
import type { AccessToken, FollowedTokens, Identity, TokenCreated, TokenPage, TokenRevoked } from "@headroom/protocol";
import { rejectionProblem } from "@headroom/views";
import { authorize } from "../auth/authorize.ts";
import { withTeamsAbove } from "../auth/team-tree.ts";
import type { Principal } from "../auth/authorize.ts";
import type { Call } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";

type TokenParts = Pick<ControlPlane, "driver" | "tokens" | "log">;

/** Maximum number of tokens for the teams of one administrator, so that no team uses up the tokens of all. */
const TOKENS_OF_TEAM_MAX = 1_000;

/** Whether the principal may see the tokens of a team. */
const readsTokens =
  (state: ReadonlyState, principal: Principal) =>
  ({ id, team }: AccessToken): boolean => {
    const teams = team === null ? [] : withTeamsAbove(state, team as TeamName);
    const resource = { kind: "tokens", name: id, teams, owner: null };
    return authorize(principal, { permission: "tokens.read" }, resource).kind === "allowed";
  };

export function listTokens(plane: ControlPlane, { query, principal }: Call<"listTokens">): Promise<TokenPage> {
  return plane.driver.read(({ state }) => plane.tokens.page(query, readsTokens(state, principal)));
}

export async function createToken(
  { driver, tokens, log }: TokenParts,
  { body, actor, principal }: Pick<Call<"createToken">, "body" | "actor" | "principal">,
): Promise<TokenCreated> {
  checkedUser(body.user);
  const { team } = body;
  const isKnown = team === null || (await driver.read(({ state }) => state.teams.has(team as TeamName)));
  if (!isKnown) throw new ProblemError(rejectionProblem({ code: "unknownTeam", team: team ?? "" }));
  if (!principal.grants.some((grant) => grant.team === null)) {
    const count = await driver.read(({ state }) => tokens.count(readsTokens(state, principal)));
    if (count >= TOKENS_OF_TEAM_MAX)
      throw refuse("tooManyTokens", `There are ${count} tokens for your teams. Revoke those that nobody uses.`);
  }
  const created = tokens.create({ ...body, createdBy: actor });
  log.info(`${actor} created the token ${body.name} (${created.token.id}): ${body.role} as ${body.user}`);
  return created;
}

export function revokeToken(plane: ControlPlane, { params: { id }, actor }: Call<"revokeToken">): TokenRevoked {
  const token = plane.tokens.revoke(id);
  if (token === null) throw refuse("unknownToken", `There is no token ${id}.`);
  plane.log.info(`${actor} revoked the token ${token.name} (${id})`);
  return { id, name: token.name };
}

/** The tokens that gateways accept: teams are known to them by their tokens. */
export function followTokens({ tokens }: ControlPlane, { query }: Call<"followTokens">): FollowedTokens {
  const { version, items } = tokens.followed();
  return { version, items: query.known === version ? null : items };
}

/** Ends the tokens of removed teams: after a removal, and at the start for a crash between both. */
export async function revokeWithoutTeam({ driver, tokens, log }: TokenParts): Promise<void> {
  const ended = await driver.read(({ state }) => tokens.revokeWithoutTeam((team) => state.teams.has(team as TeamName)));
  if (ended > 0) log.info(`${ended} tokens ended with their teams`);
}

export function identityOf({ tokens }: ControlPlane, { principal, actor }: Call<"identity">): Identity {
  const token = principal.tokenId === null ? null : tokens.get(principal.tokenId);
  return {
    user: actor,
    token: token?.name ?? null,
    team: token?.team ?? null,
    role: token?.role ?? "admin",
    expiresAtMs: token?.expiresAtMs ?? null,
  };
}
