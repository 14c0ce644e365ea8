/**
 * Marks of the teams that own stored responses. The mark is part of the id that a client gets, and only who knows the
 * gateway's secret can make it: a team that learns another one's id can neither read, continue nor delete the response.
 */
import { createHmac, randomBytes } from "node:crypto";
import { linkSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { makeDirectory } from "@headroom/platform";
import type { GatewayConfig } from "../config/schema.ts";
import { coordinatorSecretOf } from "../config/secrets.ts";

/** Number of hex digits. */
export const MARK_LENGTH = 16;

export class ResponseOwners {
  readonly #secret: string;

  constructor(secret: string) {
    this.#secret = secret;
  }

  /** The secret of a group of gateways; for others, one that the gateways with this state folder share. */
  static of({ coordinatorSecret, state }: GatewayConfig): ResponseOwners {
    return new ResponseOwners(
      coordinatorSecret === undefined ? secretIn(state) : `responses ${coordinatorSecretOf(coordinatorSecret)}`,
    );
  }

  /** `tag` and `id` name the response: the replica that has it, and the replica's own id of it. */
  markOf(team: string, tag: string, id: string): string {
    // Without teams, responses belong to nobody, and gateways need no secret in common.
    if (team === "") return "0".repeat(MARK_LENGTH);
    const values = JSON.stringify([team, tag, id]);
    return createHmac("sha256", this.#secret).update(values).digest("hex").slice(0, MARK_LENGTH);
  }
}

function secretIn(state: string): string {
  makeDirectory(state, 0o700);
  // The id of a gateway cannot begin with a dot.
  const file = path.join(state, ".responses-secret");
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${randomBytes(32).toString("base64url")}\n`, { mode: 0o600 });
  try {
    // Only one of several gateways that start at the same time gives the file its name.
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    unlinkSync(draft);
  }
  return readFileSync(file, "utf8").trim();
}
