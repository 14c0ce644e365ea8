/** Rows of the operations table about who may do what. */
import { names } from "@headroom/spec";
import { z } from "zod";
import { operation } from "./operation.ts";
import { pageQuery, queryBoolean } from "./page.ts";
import { denialList, followedTokens, identity, tokenCreated, tokenPage, tokenRequest, tokenRevoked } from "./token.ts";

export const tokenOperations = {
  listTokens: operation("GET /v1/tokens", "Tokens of people and programs", tokenPage, {
    permission: "tokens.read",
    subject: "token",
    query: pageQuery.extend({
      all: queryBoolean.optional().meta({ description: "Also tokens that have expired or were revoked." }),
    }),
    problems: ["invalidCursor"],
  }),
  createToken: operation("POST /v1/tokens", "Create a token; the answer shows it once", tokenCreated, {
    permission: "tokens.write",
    subject: "body",
    body: tokenRequest,
    status: 201,
    problems: ["unknownTeam", "tokenExists", "tooManyTokens"],
  }),
  revokeToken: operation(
    "DELETE /v1/tokens/{id}",
    "Revoke a token; requests with it are refused at once",
    tokenRevoked,
    {
      permission: "tokens.write",
      subject: "token",
      params: z.strictObject({ id: names.opaqueId }),
      problems: ["unknownToken"],
    },
  ),
  followTokens: operation(
    "GET /v1/tokens/followed",
    "Digests of the active tokens of teams with role member or above, for gateways that accept these tokens",
    followedTokens,
    {
      permission: "tokens.follow",
      query: z.strictObject({
        known: z.string().max(64).optional().meta({ description: "The version that the reader has." }),
      }),
    },
  ),
  listDenials: operation("GET /v1/denials", "Requests that were denied since the start", denialList, {
    permission: "tokens.read",
  }),
  identity: operation("GET /v1/identity", "The user, role and teams of the caller", identity, {
    permission: "status.read",
    subject: "any",
  }),
};
