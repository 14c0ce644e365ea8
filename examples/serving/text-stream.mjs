// Turns token bytes into text that can be sent: complete characters only, and nothing that may become a stop string.

/** `push(bytes)` returns text that can be sent; `isStopped`: a stop string was found; `end()` returns the rest. */
export class TextStream {
  isStopped = false;
  #decoder = new TextDecoder();
  #held = "";
  #stops;
  constructor(stops) {
    this.#stops = stops;
  }
  push(bytes) {
    return this.#release(this.#decoder.decode(bytes, { stream: true }));
  }
  end() {
    const text = this.#release(this.#decoder.decode()) + this.#held;
    this.#held = "";
    return text;
  }
  #release(text) {
    if (this.isStopped) return "";
    this.#held += text;
    const found = this.#stops.map((stop) => this.#held.indexOf(stop)).filter((at) => at >= 0);
    this.isStopped = found.length > 0;
    const ready = this.isStopped ? Math.min(...found) : this.#held.length - this.#openEnd();
    const sent = this.#held.slice(0, ready);
    this.#held = this.isStopped ? "" : this.#held.slice(ready);
    return sent;
  }
  /** Length of the longest suffix of the held text that could begin a stop string. */
  #openEnd() {
    const lengths = this.#stops.map((stop) => {
      let length = Math.min(stop.length - 1, this.#held.length);
      while (length > 0 && !this.#held.endsWith(stop.slice(0, length))) length -= 1;
      return length;
    });
    return Math.max(0, ...lengths);
  }
}
