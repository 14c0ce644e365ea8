/** Tokens in the demo. They are kept in the page; the demo has no server that would accept them. */
import { ProblemError, refuse, tokenRequest } from "@headroom/protocol";
import type { AccessToken, HeadroomClient } from "@headroom/protocol";
import { rejectionProblem } from "@headroom/views";
import { accepted } from "../workers/accepted.ts";
import type { DemoWorld } from "./demo-world.ts";

type TokenClient = Pick<
  HeadroomClient,
  "listTokens" | "createToken" | "revokeToken" | "followTokens" | "listDenials" | "identity"
>;

const USER = "console";

export function tokenClient(world: Pick<DemoWorld, "engine" | "nowMs">): TokenClient {
  const tokens = new Map<string, AccessToken>();
  const isActive = ({ revokedAtMs, expiresAtMs }: AccessToken): boolean =>
    revokedAtMs === null && world.nowMs < (expiresAtMs ?? Infinity);
  return {
    listTokens: async ({ all = false } = {}) => ({
      items: [...tokens.values()].filter((token) => all || isActive(token)).toReversed(),
      nextCursor: null,
    }),
    createToken: async (body) => {
      const { expiresInMs, ...request } = accepted(tokenRequest.safeParse(body));
      const { team, name } = request;
      if (team !== null && ![...world.engine.state.teams.keys()].some((known) => known === team))
        throw new ProblemError(rejectionProblem({ code: "unknownTeam", team }));
      if ([...tokens.values()].some((token) => token.name === name && isActive(token)))
        throw refuse("tokenExists", `There is an active token ${name}.`);
      const expiresAtMs = expiresInMs === undefined ? null : world.nowMs + expiresInMs;
      const made = { createdAtMs: world.nowMs, createdBy: USER, revokedAtMs: null, lastUsedAtMs: null };
      const token = { ...request, ...made, id: `demo-${tokens.size + 1}`, expiresAtMs };
      tokens.set(token.id, token);
      return { token, secret: `of-the-demo-alone_${token.id}` };
    },
    revokeToken: async (id) => {
      const token = tokens.get(id);
      if (token === undefined || !isActive(token)) throw refuse("unknownToken", `There is no token ${id}.`);
      tokens.set(id, { ...token, revokedAtMs: world.nowMs });
      return { id, name: token.name };
    },
    followTokens: () => Promise.reject(refuse("notSupported", "No gateway follows the demo.")),
    listDenials: async () => ({ items: [] }),
    identity: async () => ({ user: USER, token: null, team: null, role: "admin", expiresAtMs: null }),
  };
}
