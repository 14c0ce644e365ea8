/**
 * The keys that operators create without editing gateway.yaml, as a list: create, rotate, revoke. The list holds only
 * hashes; a key itself exists in the answer that creates it and nowhere else. Files are the business of `key-file.ts`.
 */
import { z } from "zod";
import { newKey } from "./teams.ts";

const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,127}$/, "must be a name");
const instant = z.int().min(0).max(8.64e15);

export const storedKeySchema = z.strictObject({
  team: name,
  name,
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  createdAtMs: instant,
  expiresAtMs: instant.optional(),
  /** Models that the key may use, among its team's. */
  models: z.array(name).min(1).max(1000).optional(),
  /** When a rotation made the successor of this key. The key then holds until `expiresAtMs`. */
  rotatedAtMs: instant.optional(),
});

export type StoredKey = z.output<typeof storedKeySchema>;

/** A key as operators see it: without its hash. */
export type ListedKey = Omit<StoredKey, "sha256"> & { readonly state: "active" | "rotated" | "expired" };

export interface KeyRequest {
  readonly team: string;
  readonly name: string;
  readonly expiresAtMs?: number | undefined;
  readonly models?: readonly string[] | undefined;
}

export interface CreatedKey {
  /** The key. It is shown once. */
  readonly key: string;
  readonly stored: ListedKey;
}

/** A change of keys that cannot be made, with the reason for the operator. */
export class KeyRefusal extends Error {
  override readonly name = "KeyRefusal";
  readonly kind: "conflict" | "notFound" | "invalid";

  constructor(kind: KeyRefusal["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Bounds the file, and the time of a change. */
export const STORED_KEYS_MAX = 10_000;
/** Time in ms for which ended keys stay in the list. */
const ENDED_KEPT_MS = 30 * 86_400_000;

export interface KeyChange<Outcome> {
  readonly keys: readonly StoredKey[];
  readonly outcome: Outcome;
}

export function createKey(keys: readonly StoredKey[], request: KeyRequest, nowMs: number): KeyChange<CreatedKey> {
  const { team, name: keyName, expiresAtMs, models } = request;
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs)
    throw new KeyRefusal("invalid", "The expiry lies in the past. Give a later time.");
  if (keys.some((each) => isNamed(each, team, keyName) && !isEnded(each, nowMs)))
    throw new KeyRefusal(
      "conflict",
      `Team ${team} has a key named ${keyName}. Rotate it (headroom key rotate ${team}/${keyName}), or choose another name.`,
    );
  const kept = keys.filter((each) => !isForgotten(each, nowMs) && !isNamed(each, team, keyName));
  if (kept.length >= STORED_KEYS_MAX)
    throw new KeyRefusal("conflict", `There are ${STORED_KEYS_MAX} keys, the most that one file holds. Revoke some.`);
  const { key, sha256 } = newKey();
  const stored: StoredKey = {
    team,
    name: keyName,
    sha256,
    createdAtMs: nowMs,
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
    ...(models === undefined ? {} : { models: [...models] }),
  };
  return { keys: [...kept, stored], outcome: { key, stored: listed(stored, nowMs) } };
}

/** Makes a successor of the key. The old key holds for `overlapMs` more, and never longer than it would have. */
export function rotateKey(
  keys: readonly StoredKey[],
  which: { readonly team: string; readonly name: string; readonly overlapMs: number },
  nowMs: number,
): KeyChange<CreatedKey & { readonly oldUntilMs: number }> {
  const { team, name: keyName, overlapMs } = which;
  const current = keys.find(
    (each) => isNamed(each, team, keyName) && each.rotatedAtMs === undefined && !isEnded(each, nowMs),
  );
  if (current === undefined) throw noSuchKey(team, keyName);
  const { key, sha256 } = newKey();
  const oldUntilMs = Math.min(current.expiresAtMs ?? Number.POSITIVE_INFINITY, nowMs + overlapMs);
  const next: StoredKey = { ...current, sha256, createdAtMs: nowMs };
  const kept = keys.filter((each) => !isForgotten(each, nowMs) && each !== current);
  const old: StoredKey[] = overlapMs > 0 ? [{ ...current, expiresAtMs: oldUntilMs, rotatedAtMs: nowMs }] : [];
  if (kept.length + old.length >= STORED_KEYS_MAX)
    throw new KeyRefusal("conflict", `There are ${STORED_KEYS_MAX} keys, the most that one file holds. Revoke some.`);
  return { keys: [...kept, ...old, next], outcome: { key, stored: listed(next, nowMs), oldUntilMs } };
}

/** Removes the key and those that it replaced; with `onlyRotated`, only the latter. */
export function revokeKey(
  keys: readonly StoredKey[],
  which: { readonly team: string; readonly name: string; readonly onlyRotated: boolean },
  nowMs: number,
): KeyChange<{ readonly revokedCount: number }> {
  const { team, name: keyName, onlyRotated } = which;
  const isRevoked = (each: StoredKey): boolean =>
    isNamed(each, team, keyName) && (!onlyRotated || each.rotatedAtMs !== undefined);
  const revoked = keys.filter((each) => isRevoked(each) && !isEnded(each, nowMs));
  if (revoked.length === 0) throw noSuchKey(team, keyName);
  const kept = keys.filter((each) => !isRevoked(each) && !isForgotten(each, nowMs));
  return { keys: kept, outcome: { revokedCount: revoked.length } };
}

export function listed(key: StoredKey, nowMs: number): ListedKey {
  const { team, name: keyName, createdAtMs, expiresAtMs, models, rotatedAtMs } = key;
  const state = isEnded(key, nowMs) ? "expired" : rotatedAtMs === undefined ? "active" : "rotated";
  return { team, name: keyName, createdAtMs, expiresAtMs, models, rotatedAtMs, state };
}

function noSuchKey(team: string, keyName: string): KeyRefusal {
  const message = `Team ${team} has no such key named ${keyName} that can be changed here. \`headroom key list\` shows the keys; keys in gateway.yaml are changed there.`;
  return new KeyRefusal("notFound", message);
}

function isNamed(key: StoredKey, team: string, keyName: string): boolean {
  return key.team === team && key.name === keyName;
}

function isEnded({ expiresAtMs }: Pick<StoredKey, "expiresAtMs">, nowMs: number): boolean {
  return expiresAtMs !== undefined && expiresAtMs <= nowMs;
}

function isForgotten({ expiresAtMs }: StoredKey, nowMs: number): boolean {
  return expiresAtMs !== undefined && expiresAtMs + ENDED_KEPT_MS <= nowMs;
}
