/**
 * Finds the header names that the gateway reads, without making strings of all other names. Names are told apart by
 * length and first letter only: other headers may match too, so a match means that the name has to be compared.
 */

const KINDS = 32 * 32;

export class HeaderNames {
  readonly #isKnown = new Uint8Array(KINDS);
  readonly #prefixLetter: number;

  /** `prefixLetter`: names that begin with this letter are always read, whatever their length; "" for none. */
  constructor(names: readonly string[], prefixLetter = "") {
    for (const name of names) this.#isKnown[kindOf(name.length, name.charCodeAt(0))] = 1;
    this.#prefixLetter = prefixLetter === "" ? -1 : prefixLetter.charCodeAt(0) & 31;
  }

  /** Whether the name at `[at, colon)` may be one of the names, in upper or lower case. */
  mayHave(lines: string, at: number, colon: number): boolean {
    const first = lines.charCodeAt(at);
    return this.#isKnown[kindOf(colon - at, first)] === 1 || (first & 31) === this.#prefixLetter;
  }
}

/** The five low bits of a letter are the same in both cases. Lengths of 32 and more share kinds with shorter ones. */
function kindOf(length: number, first: number): number {
  return (length & 31) * 32 + (first & 31);
}
