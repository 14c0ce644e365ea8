import { cleanLine } from "../../trace/delimited.ts";
import type { TraceLines } from "../../trace/trace.ts";
import type { RequestLedger } from "./request-book.ts";

/** One JSON object of a JSONL file. The first problem marks the object as broken. */
export class JsonRow {
  readonly #value: object;
  problem: string | undefined;

  constructor(value: object) {
    this.#value = value;
  }

  has(name: string): boolean {
    return Reflect.get(this.#value, name) !== undefined;
  }

  fail(message: string): void {
    this.problem ??= message;
  }

  number(name: string, max: number): number {
    const value: unknown = Reflect.get(this.#value, name);
    if (typeof value === "number" && value >= 0 && value <= max) return value;
    this.fail(`${name}: expected a number from 0 to ${max}`);
    return 0;
  }

  integer(name: string, max: number): number {
    const value = this.number(name, max);
    if (!Number.isInteger(value)) this.fail(`${name}: expected a whole number`);
    return value;
  }

  text(name: string): string {
    const value: unknown = Reflect.get(this.#value, name);
    if (typeof value === "string") return value;
    this.fail(`${name}: expected text`);
    return "";
  }

  integers(name: string, countMax: number): readonly number[] {
    const value: unknown = Reflect.get(this.#value, name);
    if (Array.isArray(value) && value.length <= countMax && value.every((one) => Number.isSafeInteger(one)))
      return value;
    this.fail(`${name}: expected at most ${countMax} whole numbers`);
    return [];
  }
}

function objectOf(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Calls `visit` with every object of a JSONL file. Invalid lines count as broken, and so do objects in which `visit`
 * finds a problem.
 */
export function readJsonLines(source: TraceLines, ledger: RequestLedger, visit: (row: JsonRow) => void): void {
  let line = 0;
  for (const raw of source.lines) {
    line += 1;
    const text = cleanLine(raw, line);
    if (text.trim() === "") continue;
    ledger.row();
    const value = objectOf(text);
    const row = new JsonRow(value ?? {});
    if (value === undefined) row.fail("expected a JSON object");
    else visit(row);
    if (row.problem !== undefined) ledger.broken({ file: source.file, line, message: row.problem });
  }
}
