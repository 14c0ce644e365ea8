/**
 * The free accelerators of a node as a shared, immutable value: nodes in equal states share one profile, and
 * transitions are computed once. The accelerators' indices do not matter.
 */
import { WHOLE_MILLI } from "@headroom/model";
import type { NodeSlot } from "../../cluster/node-slot.ts";

/** One way to take a fraction: the accelerator's free amount, and the profile afterwards. */
export interface ShareOption {
  readonly room: number;
  readonly after: FreeProfile;
}

export class FreeProfile {
  /** Number of completely free accelerators. */
  readonly whole: number;
  /** Free amounts of partly used accelerators, in ascending order. */
  readonly parts: readonly number[];
  readonly freeMilli: number;
  /** Cached values by free cores, then by free memory (`rebalance-value.ts`). */
  readonly values: Map<number, Map<number, number>> = new Map();
  readonly #table: ProfileTable;
  readonly #wholes: (FreeProfile | undefined)[] = [];
  readonly #shares = new Map<number, readonly ShareOption[]>();

  constructor(table: ProfileTable, whole: number, parts: readonly number[]) {
    this.#table = table;
    this.whole = whole;
    this.parts = parts;
    this.freeMilli = parts.reduce((sum, part) => sum + part, whole * WHOLE_MILLI);
  }

  takeWhole(count: number): FreeProfile {
    return (this.#wholes[count] ??= this.#table.intern(this.whole - count, this.parts));
  }

  /** All ways to take a fraction, fullest accelerator first. */
  shareOptions(milli: number): readonly ShareOption[] {
    const known = this.#shares.get(milli);
    if (known !== undefined) return known;
    const { parts, whole } = this;
    const options: ShareOption[] = [];
    parts.forEach((room, index) => {
      if (room < milli || parts[index - 1] === room) return;
      options.push({ room, after: this.#table.intern(whole, withRoom(parts.toSpliced(index, 1), room - milli)) });
    });
    if (whole > 0) {
      const after = this.#table.intern(whole - 1, withRoom(parts, WHOLE_MILLI - milli));
      options.push({ room: WHOLE_MILLI, after });
    }
    this.#shares.set(milli, options);
    return options;
  }
}

const withRoom = (parts: readonly number[], room: number): readonly number[] =>
  room === 0 ? parts : [...parts, room].toSorted((left, right) => left - right);

export class ProfileTable {
  readonly #known = new Map<string, FreeProfile>();

  get size(): number {
    return this.#known.size;
  }

  intern(whole: number, parts: readonly number[]): FreeProfile {
    const key = `${whole}|${parts.join(",")}`;
    let profile = this.#known.get(key);
    if (profile === undefined) {
      profile = new FreeProfile(this, whole, parts);
      this.#known.set(key, profile);
    }
    return profile;
  }

  /** The node's present free capacity. */
  of(slot: NodeSlot): FreeProfile {
    const parts: number[] = [];
    if (slot.freeCount < slot.totalCount) {
      for (let index = 0; index < slot.totalCount; index++) {
        const room = slot.room(index, "idle");
        if (room > 0 && room < WHOLE_MILLI) parts.push(room);
      }
      parts.sort((left, right) => left - right);
    }
    return this.intern(slot.freeCount, parts);
  }
}
