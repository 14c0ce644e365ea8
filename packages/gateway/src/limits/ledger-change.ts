/** Changes of a group's ledger, and the lines of its file. */
import { isAmount } from "./amount.ts";
import type { LimitDefinition } from "./ledger.ts";

interface AmountChange {
  readonly atMs: number;
  /** Name of the gateway. "" if the amount belongs to none in particular. */
  readonly member: string;
  readonly definition: LimitDefinition;
  readonly amount: number;
}

export type LedgerChange =
  | { readonly kind: "joined"; readonly atMs: number; readonly member: string; readonly life: number }
  | (AmountChange & { readonly kind: "added" })
  /** A negative slot means the newest amounts. */
  | (AmountChange & { readonly kind: "refunded"; readonly slot: number })
  /** `age` is the age of the amount's slot at `atMs`, in slots. */
  | (AmountChange & { readonly kind: "imported"; readonly age: number })
  /** Nothing of a limit per minute is granted until this time. */
  | { readonly kind: "withheld"; readonly untilMs: number };

/** Numbers of the definitions in a file, so that a change need not repeat its definition. */
export class DefinitionTable {
  readonly #numbers = new Map<string, number>();
  readonly #byNumber = new Map<number, LimitDefinition>();

  /** The line of a change, after the line of its definition if that is new in the file. */
  linesOf(change: LedgerChange): string {
    if (change.kind === "withheld") return `${JSON.stringify(["withheld", change.untilMs])}\n`;
    const { atMs, member } = change;
    if (change.kind === "joined") return `${JSON.stringify(["joined", atMs, member, change.life])}\n`;
    const { definition, amount } = change;
    const key = `${definition.id} ${definition.period ?? ""} ${definition.limit}`;
    const known = this.#numbers.get(key);
    const number = known ?? this.#numbers.size;
    this.#numbers.set(key, number);
    const slot = change.kind === "refunded" ? [change.slot] : change.kind === "imported" ? [change.age] : [];
    const line = `${JSON.stringify([change.kind, atMs, member, number, amount, ...slot])}\n`;
    return known === undefined ? `${JSON.stringify(["limit", number, definition])}\n${line}` : line;
  }

  define(number: number, definition: LimitDefinition): void {
    this.#byNumber.set(number, definition);
  }

  definition(number: number): LimitDefinition {
    const found = this.#byNumber.get(number);
    if (found === undefined) throw new Error(`the limit ${number} is not defined before its use`);
    return found;
  }
}

/** The change in a line of the file. Undefined for the line of a definition. Throws if the line is damaged. */
export function changeIn(line: string, definitions: DefinitionTable): LedgerChange | undefined {
  const row = JSON.parse(line) as readonly unknown[];
  if (row[0] === "limit") {
    definitions.define(row[1] as number, row[2] as LimitDefinition);
    return undefined;
  }
  const [kind, atMs, member, number, amount, slot] = row as [string, number, string, number, number, number];
  if (kind === "withheld") return { kind, untilMs: atMs };
  if (kind === "joined") return { kind, atMs, member, life: number };
  const definition = definitions.definition(number);
  if (!isAmount(amount)) throw new Error(`a line counts ${String(amount)}`);
  switch (kind) {
    case "added":
      return { kind, atMs, member, definition, amount };
    case "refunded":
      return { kind, atMs, member, definition, amount, slot };
    case "imported":
      return { kind, atMs, member, definition, amount, age: slot };
    default:
      throw new Error(`a line begins with ${kind}`);
  }
}
