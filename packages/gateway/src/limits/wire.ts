/** Messages between gateways and the coordinator over TCP. Each line is one JSON object. */
import type { Socket } from "node:net";
import type { LimitDefinition } from "./ledger.ts";

/** Amounts that a gateway has counted itself, for a new ledger. */
export interface CountedUse {
  readonly definition: LimitDefinition;
  /** Amounts by the age of their half-second slot. A budget has one amount with age 0. */
  readonly ages: readonly (readonly [age: number, amount: number])[];
}

export type MemberMessage =
  | {
      readonly t: "hello";
      readonly secret: string;
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
  | { readonly t: "give"; readonly definition: LimitDefinition; readonly slot: number; readonly amount: number }
  | { readonly t: "charge"; readonly definition: LimitDefinition; readonly amount: number };

export type LedgerMessage =
  | { readonly t: "welcome"; readonly ledger: string; readonly members: number }
  | { readonly t: "members"; readonly members: number }
  | { readonly t: "granted"; readonly n: number; readonly slot: number; readonly amount: number }
  | { readonly t: "denied"; readonly n: number; readonly inMs: number };

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
