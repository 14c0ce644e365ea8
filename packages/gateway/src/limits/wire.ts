/** Messages between gateways and the coordinator: one JSON object a line, over TCP. */
import type { Socket } from "node:net";
import type { LimitDefinition } from "./ledger.ts";

/** A gateway's own count, for a new ledger. */
export interface CountedUse {
  readonly definition: LimitDefinition;
  /** Amounts by the age of their half-second slot; a budget has one amount of age 0. */
  readonly ages: readonly (readonly [age: number, amount: number])[];
}

export type MemberMessage =
  | {
      readonly t: "hello";
      readonly secret: string;
      readonly member: string;
      /** Number of the gateway's process: another one after each start. */
      readonly life: number;
      /** Id of the ledger of the previous connection; "" for none. */
      readonly ledger: string;
      readonly used: readonly CountedUse[];
    }
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

/** Maximum length of a line: a hello message carries the last minute of every limit in use. */
const LINE_BYTES_MAX = 64 * 1024 * 1024;

/** Calls `onMessage` for every line; an invalid line ends the connection. */
export function readLines(socket: Socket, onMessage: (message: unknown) => void): void {
  let pending = "";
  socket.setEncoding("utf8");
  socket.on("data", (text: string) => {
    pending += text;
    const lines = pending.split("\n");
    pending = lines.pop() ?? "";
    if (pending.length > LINE_BYTES_MAX) {
      socket.destroy();
      return;
    }
    for (const line of lines) {
      let message: unknown;
      try {
        message = JSON.parse(line);
      } catch {
        socket.destroy();
        return;
      }
      if (typeof message === "object" && message !== null && "t" in message) onMessage(message);
    }
  });
}
