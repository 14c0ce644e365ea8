/**
 * Fields of an MLflow request, from a JSON body or a query. As in the JSON form of protocol buffers, a number can be
 * written as a string, and a query has one text for a list of one. Limits are those of mlflow/utils/validation.py.
 */
import { invalid } from "./mlflow-error.ts";

const KEY_CHARS_MAX = 250;
/** Letters of any script, as Python's `\w`. */
const KEY = /^[\p{L}\p{N}_/.\- :]+$/u;
const TEXT_CHARS_MAX = 5_000;
/** Maximum number of characters of a refused value that a message repeats. */
const QUOTED_CHARS_MAX = 60;
/** Pages beyond this number of items would only be read by clients that make tokens up. */
const OFFSET_MAX = 1_000_000_000;

export type FieldSource = "body" | "query";

export const quoted = (text: string): string => JSON.stringify(text.slice(0, QUOTED_CHARS_MAX));

/** Whether a name has a segment that would leave a directory if the name were used as a path. */
export const hasDotSegment = (name: string): boolean =>
  name.split(/[/\\]/).some((part) => part === "." || part === "..");

export class Fields {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #source: FieldSource;

  constructor(values: unknown, source: FieldSource) {
    if (values !== undefined && (typeof values !== "object" || values === null || Array.isArray(values)))
      throw invalid("The request must be a JSON object.");
    this.#values = (values ?? {}) as Readonly<Record<string, unknown>>;
    this.#source = source;
  }

  #value(name: string): unknown {
    const value = Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
    return value === null ? undefined : value;
  }

  has(name: string): boolean {
    return this.#value(name) !== undefined;
  }

  text(name: string, charsMax = TEXT_CHARS_MAX): string | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    if (typeof value !== "string") throw invalid(`Invalid value for parameter '${name}': expected a string.`);
    if (value.length > charsMax)
      throw invalid(`Parameter '${name}' has ${value.length} characters; at most ${charsMax} are accepted.`);
    if (value.includes("\0")) throw invalid(`Parameter '${name}' has a NUL character.`);
    return value;
  }

  needed(name: string, charsMax?: number): string {
    const text = this.text(name, charsMax);
    if (text === undefined || text === "") throw invalid(`Missing value for required parameter '${name}'.`);
    return text;
  }

  /** An id, which clients also send as a number. */
  id(name: string): string | undefined {
    const value = this.#value(name);
    if (typeof value === "number" && Number.isSafeInteger(value)) return String(value);
    const text = this.text(name, 256);
    return text === "" ? undefined : text;
  }

  neededId(name: string): string {
    const id = this.id(name);
    if (id === undefined) throw invalid(`Missing value for required parameter '${name}'.`);
    return id;
  }

  /** `run_uuid` is the name of the field before MLflow 1.0. */
  runId(): string {
    return this.id("run_id") ?? this.id("run_uuid") ?? this.neededId("run_id");
  }

  /** Name of an experiment or a model. */
  name(field: string, charsMax: number): string {
    const name = this.needed(field, charsMax);
    if (/\p{Cc}/u.test(name) || name.trim() === "" || hasDotSegment(name))
      throw invalid(
        `Invalid name ${quoted(name)} in parameter '${field}': control characters, '.' and '..' are refused.`,
      );
    return name;
  }

  /** Name of a metric, parameter or tag. */
  key(name = "key"): string {
    const key = this.needed(name, KEY_CHARS_MAX);
    if (!KEY.test(key) || key.startsWith("/") || key.endsWith("/") || key.includes("//") || hasDotSegment(key))
      throw invalid(
        `Invalid name ${quoted(key)} in parameter '${name}': use letters, digits, '_', '-', '.', ':', ' ' and '/' between parts.`,
      );
    return key;
  }

  integer(name: string): number | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (typeof number !== "number" || !Number.isSafeInteger(number))
      throw invalid(`Invalid value for parameter '${name}': expected a whole number.`);
    return number;
  }

  /** A time in ms since 1970. */
  time(name: string): number | undefined {
    const value = this.integer(name);
    if (value !== undefined && value < 0) throw invalid(`Invalid value for parameter '${name}': it is negative.`);
    return value;
  }

  /** `null` stands for NaN, which SQLite and JSON do not have. */
  metricValue(name = "value"): number | null {
    const value = this.#value(name);
    if (value === undefined) throw invalid(`Missing value for required parameter '${name}'.`);
    if (value === "NaN" || value === "nan") return null;
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (typeof number !== "number" || Number.isNaN(number))
      throw invalid(`Invalid value for parameter '${name}': expected a number.`);
    return number;
  }

  flag(name: string): boolean {
    const value = this.#value(name);
    if (value === undefined || value === false) return false;
    if (value === true) return true;
    if (this.#source === "query" && (value === "true" || value === "false")) return value === "true";
    throw invalid(`Invalid value for parameter '${name}': expected true or false.`);
  }

  count(name: string, byDefault: number, max: number): number {
    const value = this.integer(name) ?? byDefault;
    if (value < 1 || value > max) throw invalid(`Invalid value for parameter '${name}': expected 1 to ${max}.`);
    return value;
  }

  /** One of the values of an enumeration, by its name or its number in the protocol buffer, which begins at 1. */
  choice<Value extends string>(name: string, values: readonly Value[]): Value | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    const found = values.find((each, index) => each === value || index + 1 === value || String(index + 1) === value);
    if (found === undefined) throw invalid(`Invalid value for parameter '${name}': expected ${values.join(", ")}.`);
    return found;
  }

  child(name: string): Fields {
    const value = this.#value(name);
    if (value === undefined) throw invalid(`Missing value for required parameter '${name}'.`);
    return new Fields(value, this.#source);
  }

  list(name: string, countMax: number): readonly Fields[] {
    return this.#array(name, countMax).map((item) => new Fields(item ?? null, this.#source));
  }

  texts(name: string, countMax: number, charsMax = TEXT_CHARS_MAX): readonly string[] {
    return this.#array(name, countMax).map((item) => {
      if (typeof item !== "string" || item.length > charsMax || item.includes("\0"))
        throw invalid(`Invalid value for parameter '${name}': expected strings of at most ${charsMax} characters.`);
      return item;
    });
  }

  ids(name: string, countMax: number): readonly string[] {
    return this.#array(name, countMax).map((item) => {
      const isId = typeof item === "string" || (typeof item === "number" && Number.isSafeInteger(item));
      if (!isId || String(item).length > 256) throw invalid(`Invalid value for parameter '${name}': expected ids.`);
      return String(item);
    });
  }

  #array(name: string, countMax: number): readonly unknown[] {
    const value = this.#value(name);
    if (value === undefined) return [];
    if (!Array.isArray(value) && this.#source === "body")
      throw invalid(`Invalid value for parameter '${name}': expected a list.`);
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (items.length > countMax)
      throw invalid(`Parameter '${name}' has ${items.length} items; at most ${countMax} are accepted.`);
    return items;
  }

  /** Where a page starts. The token is the number of items before it. */
  offset(): number {
    const token = this.text("page_token", 64);
    if (token === undefined || token === "") return 0;
    const digits = Buffer.from(token, "base64url").toString("latin1");
    const offset = /^\d{1,10}$/.test(digits) ? Number(digits) : Infinity;
    if (offset > OFFSET_MAX) throw invalid("Invalid value for parameter 'page_token'.");
    return offset;
  }
}
