/** The fields of one manifest. Each is honoured or named: what no reader has taken is reported in the end. */
import type { HonouredDirective, IgnoredDirective } from "../slurm/read-script.ts";

export type FieldPath = readonly (string | number)[];

export interface Manifest {
  readonly value: unknown;
  /** Line of the value at the path. */
  lineOf(path: FieldPath): number;
}

/** Deeper than any object of Kubernetes. */
const DEPTH_MAX = 50;
const VALUE_CHARS_MAX = 80;
/** Above any manifest that a person reads the remarks of. Anchors can repeat the fields of a small file many times. */
const NAMED_MAX = 10_000;

export class ManifestFields {
  readonly honoured: HonouredDirective[] = [];
  readonly ignored: IgnoredDirective[] = [];
  readonly #manifest: Manifest;
  readonly #taken = new Set<string>();
  /** Paths above those that are taken. */
  readonly #above = new Set<string>();

  constructor(manifest: Manifest) {
    this.#manifest = manifest;
  }

  /** `undefined`: there is no such field, or it is null, which Kubernetes reads as absent. */
  at(path: FieldPath): unknown {
    let value: unknown = this.#manifest.value;
    for (const key of path) {
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
      value = (value as Readonly<Record<string | number, unknown>>)[key];
    }
    return value ?? undefined;
  }

  text(path: FieldPath): string | undefined {
    const value = this.at(path);
    return typeof value === "string" ? value : undefined;
  }

  /** The elements of a list; none if the field is absent or is no list. */
  list(path: FieldPath): readonly unknown[] {
    const value = this.at(path);
    return Array.isArray(value) ? value : [];
  }

  entries(path: FieldPath): readonly (readonly [string, unknown])[] {
    const value = this.at(path);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
  }

  has(path: FieldPath): boolean {
    return this.at(path) !== undefined;
  }

  /** The field with everything below it becomes a part of the document. */
  honour(path: FieldPath, becomes: string): void {
    if (!this.#take(path)) return;
    this.honoured.push({ directive: this.#written(path), line: this.#manifest.lineOf(path), becomes });
  }

  ignore(path: FieldPath, reason: string): void {
    if (!this.#take(path)) return;
    this.ignored.push({ directive: this.#written(path), line: this.#manifest.lineOf(path), reason });
  }

  /** Kubernetes refuses the value, or this manifest cannot run without it. */
  refuse(path: FieldPath, reason: string): void {
    if (!this.#take(path)) return;
    this.ignored.push({ directive: this.#written(path), line: this.#manifest.lineOf(path), reason, invalid: true });
  }

  /** Names the fields that are left. `reasonOf` is asked for each key; a reason covers everything below it. */
  nameRest(reasonOf: (key: string) => string | undefined, otherwise: string): void {
    const walk = (path: FieldPath): void => {
      if (this.#taken.has(keyOf(path)) || this.ignored.length > NAMED_MAX) return;
      const key = path.at(-1);
      if (key === "<<") return this.refuse(path, "is a merge of YAML with something else than maps");
      if (this.ignored.length === NAMED_MAX)
        return this.refuse(path, `is field ${NAMED_MAX + 1} without effect; the fields after it are not listed`);
      const reason = typeof key === "string" ? reasonOf(key) : undefined;
      if (reason !== undefined && !this.#above.has(keyOf(path))) return this.ignore(path, reason);
      const value = this.at(path);
      const isLeaf = typeof value !== "object" || value === null || Object.keys(value).length === 0;
      if (value === undefined) return;
      if (path.length > 0 && (isLeaf || path.length >= DEPTH_MAX)) return this.ignore(path, otherwise);
      for (const next of Array.isArray(value) ? value.keys() : Object.keys(value as object)) walk([...path, next]);
    };
    walk([]);
    for (const list of [this.honoured, this.ignored]) list.sort((left, right) => left.line - right.line);
  }

  #take(path: FieldPath): boolean {
    const key = keyOf(path);
    if (this.#taken.has(key)) return false;
    this.#taken.add(key);
    for (let depth = path.length - 1; depth > 0; depth--) this.#above.add(keyOf(path.slice(0, depth)));
    return true;
  }

  #written(path: FieldPath): string {
    const place = path
      .map((key, at) => (typeof key === "number" ? `[${key}]` : `${at === 0 ? "" : "."}${key}`))
      .join("");
    const value = this.at(path);
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return place;
    const text = String(value).replaceAll(/\s+/g, " ");
    return `${place}: ${text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}…` : text}`;
  }
}

const keyOf = (path: FieldPath): string => JSON.stringify(path);
