/**
 * Finds the headers that the gateway reads without making a string of every header's name. Names are distinguished by
 * their length and first letter only. Other names can match too, so after a match the whole name must be compared.
 */

const KINDS = 32 * 32;

export class HeaderNames {
  readonly #isKnown = new Uint8Array(KINDS);
  readonly #prefixLetter: number;

  /** Names that begin with `prefixLetter` always match, whatever their length. "" if there is no such letter. */
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

/**
 * A number for length and first letter. The five low bits of a letter are the same in both cases. Names of 32 or more
 * characters have the same numbers as shorter ones.
 */
function kindOf(length: number, first: number): number {
  return (length & 31) * 32 + (first & 31);
}

/**
 * The value without the blanks and tabs around it (RFC 9110 §5.5). `trim` would also drop other white space, such as a
 * no-break space: two parsers could then see different values.
 */
export function fieldValue(raw: string): string {
  let from = 0;
  let to = raw.length;
  while (from < to && isBlank(raw.charCodeAt(from))) from++;
  while (to > from && isBlank(raw.charCodeAt(to - 1))) to--;
  return raw.slice(from, to);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}
