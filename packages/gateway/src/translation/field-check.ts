/**
 * Finds what a translation cannot express. A request with such a field is refused: a model that does not see a document
 * or ignores a setting gives a wrong answer that looks right. The first finding counts.
 *
 * Each field of a protocol is in one of three groups: translated, ignorable (listed in docs/reference/gateway.md: the
 * answer is the same without it), or refused. Fields that nobody listed are refused. `null` stands for an absent field.
 */
import type { Json, JsonObject } from "./translator.ts";

export interface RefusedField {
  /** Path of the field in the request, such as `messages[0].content[1].type`. */
  readonly field: string;
  readonly message: string;
}

export class FieldCheck {
  #refused: RefusedField | undefined;

  get refused(): RefusedField | undefined {
    return this.#refused;
  }

  refuse(field: string, reason: string): void {
    this.#refused ??= {
      field,
      message: `\`${field}\` ${reason}. The gateway translates this request for a model server that speaks only chat completions.`,
    };
  }

  /** Refuses all fields of `object` whose names are not in `known`. `at` is the object's path, empty for the body. */
  fields(object: JsonObject, at: string, known: ReadonlySet<string>): void {
    if (this.#refused !== undefined) return;
    for (const [name, value] of Object.entries(object)) {
      if (value == null || known.has(name)) continue;
      this.refuse(pathOf(at, name), "cannot be translated");
      return;
    }
  }

  /** Refuses the field unless it is absent or has one of the values. */
  only(object: JsonObject, at: string, allowed: { readonly name: string; readonly values: readonly Json[] }): void {
    const value = object[allowed.name];
    if (value == null || allowed.values.some((each) => JSON.stringify(each) === JSON.stringify(value))) return;
    this.refuse(pathOf(at, allowed.name), `cannot be translated with the value ${shown(value)}`);
  }

  /** The objects of a list. Anything else in it, or another type of value, is refused. Empty after a finding. */
  objects(value: Json | undefined, at: string): readonly JsonObject[] {
    if (value == null || this.#refused !== undefined) return [];
    if (!Array.isArray(value)) {
      this.refuse(at, "must be a list");
      return [];
    }
    const objects: JsonObject[] = [];
    for (const [index, each] of value.entries()) {
      objects.push(...this.object(each, `${at}[${index}]`));
      if (this.#refused !== undefined) return [];
    }
    return objects;
  }

  /** The object in a list of one, or an empty list if the value is no object. */
  object(value: Json | undefined, at: string): readonly JsonObject[] {
    if (value == null) return [];
    if (typeof value === "object" && !Array.isArray(value)) return [value];
    this.refuse(at, "must be an object");
    return [];
  }

  text(value: Json | undefined, at: string): string {
    if (typeof value === "string") return value;
    this.refuse(at, "must be a text");
    return "";
  }
}

const SHOWN_CHARACTERS_MAX = 64;

/** The value as JSON, shortened: it goes into a message. */
export function shown(value: Json | undefined): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length <= SHOWN_CHARACTERS_MAX ? text : `${text.slice(0, SHOWN_CHARACTERS_MAX)}…`;
}

function pathOf(at: string, name: string): string {
  return at === "" ? name : `${at}.${name}`;
}
