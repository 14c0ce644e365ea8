/** The newest values of metric sources about each endpoint. They are not stored: sources are read again after a restart. */
import type { FollowedValue } from "../metric-sources/target-messages.ts";

export class NewestValues {
  /** By endpoint, then by source and name. */
  readonly #endpoints = new Map<string, Map<string, FollowedValue>>();

  take(values: readonly FollowedValue[]): void {
    for (const value of values) this.#takeOne(value);
  }

  #takeOne(value: FollowedValue): void {
    const known = this.#endpoints.get(value.endpoint) ?? new Map<string, FollowedValue>();
    this.#endpoints.set(value.endpoint, known);
    known.set(`${value.source} ${value.name}`, value);
    // A source that was renamed leaves its last value behind, which is late and must not stand beside the new one for ever.
    for (const [key, each] of known) if (value.atMs - each.atMs > FORGOTTEN_AFTER_MS) known.delete(key);
  }

  of(endpoint: string): readonly FollowedValue[] {
    return [...(this.#endpoints.get(endpoint)?.values() ?? [])];
  }

  keepOnly(endpoints: ReadonlySet<string>): void {
    for (const id of this.#endpoints.keys()) if (!endpoints.has(id)) this.#endpoints.delete(id);
  }
}

/** Longer than three intervals of any source. */
const FORGOTTEN_AFTER_MS = 4 * 3_600_000;
