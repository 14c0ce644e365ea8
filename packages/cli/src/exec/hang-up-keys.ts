/** Finds the keys Enter, ~ and . in a row, by which a user hangs up a session that does not answer, as in ssh(1). */
export class HangUpKeys {
  static readonly #keys = "\r~.";
  #typed = 0;

  /** Whether the keys end in this piece of input. */
  isHangUp(bytes: Uint8Array): boolean {
    for (const byte of bytes) {
      const key = String.fromCharCode(byte);
      if (key === HangUpKeys.#keys[this.#typed]) this.#typed++;
      else this.#typed = key === HangUpKeys.#keys[0] ? 1 : 0;
      if (this.#typed === HangUpKeys.#keys.length) return true;
    }
    return false;
  }
}
