/** The routes of keys: list, create, rotate, revoke. An answer holds a key only if the request made it. */
import { issueText } from "@headroom/platform";
import { z } from "zod";
import { changeKeyFile, readKeyFile } from "../access/key-file.ts";
import { misfitOf } from "../access/stored-config.ts";
import { createKey, KeyRefusal, listed, revokeKey, rotateKey } from "../access/stored-keys.ts";
import type { CreatedKey, KeyChange, KeyRequest, StoredKey } from "../access/stored-keys.ts";
import type { GatewayConfig } from "../config/schema.ts";
import { refusal, type AdminAnswer, type AdminRequest, type AdminRoutes } from "./admin-answer.ts";

export interface KeyAdmin {
  readonly file: string;
  /** Called when the file has changed: resolves when the gateway knows the new keys. */
  changed(): Promise<void>;
}

const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,127}$/, "must be a name");
const which = z.strictObject({ team: name, name });
const createSchema = which.extend({
  expiresAtMs: z.int().min(0).max(8.64e15).optional(),
  models: z.array(name).min(1).max(1000).optional(),
});
/** Longest overlap of a rotation: a year. */
const OVERLAP_MAX_MS = 366 * 86_400_000;
const rotateSchema = which.extend({ overlapMs: z.int().min(0).max(OVERLAP_MAX_MS).default(86_400_000) });
const revokeSchema = which.extend({ onlyRotated: z.boolean().default(false) });

const statuses: Readonly<Record<KeyRefusal["kind"], number>> = { conflict: 409, notFound: 404, invalid: 400 };

export function keyRoutes(admin: KeyAdmin | undefined, config: () => GatewayConfig): AdminRoutes {
  return (request) => {
    if (request.path !== "/v1/keys" && !request.path.startsWith("/v1/keys/")) return undefined;
    if (admin === undefined) return refusal(409, "This gateway has no file of keys.");
    return answered(request, admin, config());
  };
}

async function answered(request: AdminRequest, admin: KeyAdmin, config: GatewayConfig): Promise<AdminAnswer> {
  try {
    return await answerOf(request, admin, config);
  } catch (error) {
    if (error instanceof KeyRefusal) return refusal(statuses[error.kind], error.message);
    if (error instanceof z.ZodError) {
      const [issue] = error.issues;
      return refusal(400, `${issue?.path.join(".") ?? ""} ${issue?.message ?? "is not valid"}`.trim());
    }
    return refusal(500, error instanceof Error ? error.message : String(error));
  }
}

async function answerOf(request: AdminRequest, admin: KeyAdmin, config: GatewayConfig): Promise<AdminAnswer> {
  const { method, path, body } = request;
  const nowMs = Date.now();
  const parse = <Schema extends z.ZodType>(schema: Schema): z.output<Schema> =>
    schema.parse(body, { error: issueText });
  if (method === "GET" && path === "/v1/keys") return { status: 200, body: { keys: keysOf(admin, config, nowMs) } };
  if (method !== "POST")
    return refusal(405, "Use GET /v1/keys, or POST to /v1/keys, /v1/keys/rotate, /v1/keys/revoke.");
  let outcome: object;
  switch (path) {
    case "/v1/keys": {
      const asked = parse(createSchema);
      const misfit = misfitOf(asked, config);
      if (misfit !== undefined) return refusal(404, misfit);
      outcome = await changeKeyFile(admin.file, (keys) => createOwnKey(config, keys, asked, nowMs));
      break;
    }
    case "/v1/keys/rotate":
      outcome = await changeKeyFile(admin.file, (keys) => rotateKey(keys, parse(rotateSchema), nowMs));
      break;
    case "/v1/keys/revoke":
      outcome = await changeKeyFile(admin.file, (keys) => revokeKey(keys, parse(revokeSchema), nowMs));
      break;
    default:
      return refusal(404, "There are /v1/keys, /v1/keys/rotate and /v1/keys/revoke.");
  }
  await admin.changed();
  return { status: path === "/v1/keys" ? 201 : 200, body: outcome };
}

/** Creates a key whose name gateway.yaml does not use: usage is added up by team and key. */
export function createOwnKey(
  config: GatewayConfig,
  stored: readonly StoredKey[],
  request: KeyRequest,
  nowMs: number,
): KeyChange<CreatedKey> {
  const { team, name: keyName } = request;
  const hashes = new Set(stored.map(({ sha256 }) => sha256));
  const own = config.teams.find((each) => each.name === team)?.keys.filter(({ sha256 }) => !hashes.has(sha256));
  if (own?.some((each) => each.name === keyName) === true) {
    const message = `gateway.yaml has a key named ${keyName} of team ${team}. Choose another name, or replace it there.`;
    throw new KeyRefusal("conflict", message);
  }
  return createKey(stored, request, nowMs);
}

export interface ShownKey {
  readonly team: string;
  readonly name: string;
  readonly source: "file" | "configuration";
  readonly state: "active" | "rotated" | "expired";
  readonly createdAtMs?: number | undefined;
  readonly expiresAtMs?: number | undefined;
  readonly rotatedAtMs?: number | undefined;
  readonly models?: readonly string[] | undefined;
}

/** All keys by team and name: those of the file, and those that gateway.yaml itself lists. */
function keysOf({ file }: KeyAdmin, config: GatewayConfig, nowMs: number): readonly ShownKey[] {
  return shownKeys(config.teams, readKeyFile(file), nowMs);
}

export function shownKeys(
  teams: GatewayConfig["teams"],
  stored: readonly StoredKey[],
  nowMs: number,
): readonly ShownKey[] {
  const hashes = new Set(stored.map(({ sha256 }) => sha256));
  const configured = teams.flatMap(({ name: team, keys }) =>
    keys
      .filter(({ sha256 }) => !hashes.has(sha256))
      .map((key): ShownKey => {
        const state = key.expires !== undefined && key.expires <= nowMs ? "expired" : "active";
        const own = key.name ?? key.sha256.slice(0, 8);
        return { team, name: own, source: "configuration", state, expiresAtMs: key.expires, models: key.models };
      }),
  );
  const fromFile = stored.map((key): ShownKey => ({ ...listed(key, nowMs), source: "file" }));
  return [...configured, ...fromFile].toSorted(
    (a, b) => order(a.team, b.team) || order(a.name, b.name) || order(b.state, a.state),
  );
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
