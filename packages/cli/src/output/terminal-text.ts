/**
 * Makes text of a workload safe for a terminal: escape sequences could change the terminal's settings, its title or
 * earlier lines. Colours (SGR, ECMA-48 8.3.117) can be kept.
 */

/** Maximum length of an escape sequence that has no end. A longer one is dropped. */
const SEQUENCE_CHARS_MAX = 256;

// oxlint-disable no-control-regex -- control characters are what this file is about.
/**
 * Forms of escape sequences: CSI, then OSC and other strings up to BEL or ST, then two-character sequences (ECMA-48,
 * 5.4 to 5.6).
 */
const sequences = /\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[ -/]*[0-~]/g;
const colour = /^\u001b\[[0-9;:]*m$/;
/** Control characters other than tab, line feed and carriage return, and those that reorder the text of a line. */
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
/** An incomplete escape sequence at the end of the text. */
const openSequence = /\u001b(?:\[[0-?]*[ -/]*|[\]PX^_][^\u0007\u001b]*\u001b?|[ -/]*)?$/;
const otherEscapes = /\u001b(?!\[[0-9;:]*m)/g;
// oxlint-enable no-control-regex

/** Cleans a stream that arrives in pieces. A sequence can be split between two pieces. */
export class TerminalText {
  readonly #keepsColours: boolean;
  #open = "";

  constructor(keepsColours: boolean) {
    this.#keepsColours = keepsColours;
  }

  clean(piece: string): string {
    const text = this.#open + piece;
    const start = openSequence.exec(text)?.index ?? text.length;
    this.#open = text.length - start > SEQUENCE_CHARS_MAX ? "" : text.slice(start);
    return text
      .slice(0, start)
      .replaceAll(sequences, (sequence) => (this.#keepsColours && colour.test(sequence) ? sequence : ""))
      .replaceAll(controls, "")
      .replaceAll(otherEscapes, "");
  }
}
