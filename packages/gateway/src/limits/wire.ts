/**
 * Messages between gateways and the coordinator over TCP. Each line is one JSON object. Both sides prove that they know
 * the secret, which itself is never sent.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Socket } from "node:net";
import type { LimitDefinition } from "./ledger.ts";

/** Amounts that a gateway has counted itself, for a new ledger. */
export interface CountedUse {
  readonly definition: LimitDefinition;
  /** Amounts by the age of their half-second slot. A budget has one amount with age 0. */
  readonly ages: readonly (readonly [age: number, amount: number])[];
}

/** A negative slot in messages and in the ledger's file: the refund comes from the newest amounts. */
export const NEWEST_SLOT = -1;

export type MemberMessage =
  | {
      readonly t: "hello";
      /** `proofOf` the coordinator's nonce, member and life. */
      readonly proof: string;
      /** For the coordinator's own proof. */
      readonly nonce: string;
      readonly member: string;
      /** Number of the gateway's process. It changes with each start. */
      readonly life: number;
      /** Id of the ledger that the previous connection used. "" if there was none. */
      readonly ledger: string;
    }
  /**
   * Follows `hello` immediately; the coordinator then answers `welcome`. It is a separate message because it can be
   * large.
   */
  | { readonly t: "used"; readonly used: readonly CountedUse[] }
  | {
      readonly t: "ask";
      readonly n: number;
      readonly definition: LimitDefinition;
      readonly need: number;
      readonly want: number;
    }
  /** `slot` is the one of the grant, or `NEWEST_SLOT`. */
  | { readonly t: "give"; readonly definition: LimitDefinition; readonly slot: number; readonly amount: number }
  | { readonly t: "charge"; readonly definition: LimitDefinition; readonly amount: number };

export type LedgerMessage =
  /** Sent first, to every connection. */
  | { readonly t: "challenge"; readonly nonce: string }
  /** `proof` is `proofOf` the gateway's nonce and the ledger. */
  | { readonly t: "welcome"; readonly proof: string; readonly ledger: string; readonly members: number }
  | { readonly t: "members"; readonly members: number }
  | { readonly t: "granted"; readonly n: number; readonly slot: number; readonly amount: number }
  | { readonly t: "denied"; readonly n: number; readonly inMs: number }
  /** The question with this number is not valid. It must not be asked again. */
  | { readonly t: "refused"; readonly n: number };

/** Shows that the sender knows the secret: the HMAC-SHA256 of the values that both sides know. */
export function proofOf(secret: string, ...values: readonly (string | number)[]): string {
  return createHmac("sha256", secret).update(JSON.stringify(values)).digest("hex");
}

/** Compares in constant time. */
export function isProof(proof: unknown, expected: string): boolean {
  if (typeof proof !== "string") return false;
  const [given, wanted] = [Buffer.from(proof), Buffer.from(expected)];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** Maximum length of a line from a member: `used` carries the last minute of every limit in use. */
export const MEMBER_LINE_MAX: number = 64 * 1024 * 1024;
/** Maximum length of a `hello` line, which arrives before the secret is checked, and of the coordinator's lines. */
const SHORT_LINE_MAX = 4096;

/** Calls `onMessage` for every line; a line that is too long or invalid ends the connection. */
export function readLines(socket: Socket, onMessage: (message: unknown) => void): LineReader {
  return new SocketLines(socket, onMessage);
}

export interface LineReader {
  /** Maximum length of a line in UTF-16 code units. */
  lineMax: number;
}

class SocketLines implements LineReader {
  readonly #socket: Socket;
  readonly #onMessage: (message: unknown) => void;
  readonly #pending: string[] = [];
  #pendingLength = 0;
  lineMax: number = SHORT_LINE_MAX;

  constructor(socket: Socket, onMessage: (message: unknown) => void) {
    this.#socket = socket;
    this.#onMessage = onMessage;
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => this.#take(text));
  }

  #take(text: string): void {
    let from = 0;
    while (!this.#socket.destroyed) {
      const feed = text.indexOf("\n", from);
      const end = feed < 0 ? text.length : feed;
      this.#pendingLength += end - from;
      if (this.#pendingLength > this.lineMax) {
        this.#socket.destroy();
        return;
      }
      this.#pending.push(text.slice(from, end));
      if (feed < 0) return;
      const line = this.#pending.join("");
      this.#pending.length = 0;
      this.#pendingLength = 0;
      from = feed + 1;
      this.#receive(line);
    }
  }

  #receive(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      this.#socket.destroy();
      return;
    }
    if (typeof message === "object" && message !== null && "t" in message) this.#onMessage(message);
  }
}
