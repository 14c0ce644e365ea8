// Schedules requests on the sequences ("slots") of an engine, first come, first served. A request takes the free slot
// whose cached tokens share the longest prefix with its prompt, and only the rest is computed.
import { logProbabilities, pick } from "./sampler.mjs";
import { TextStream } from "./text-stream.mjs";

export class Scheduler {
  #engine;
  #slots;
  #queue = [];
  #requests = new Map();
  #clock = 0;
  counts = { preemptions: 0, prefixQueries: 0, prefixHits: 0 };

  /** `emit(id, event)` gets `started`, `text`, and once `done` or `failed` for each request. */
  constructor(engine, emit) {
    this.#engine = engine;
    this.emit = emit;
    this.#slots = Array.from({ length: engine.slotCount }, (_, index) => ({
      index,
      tokens: [],
      isBusy: false,
      usedAt: 0,
    }));
  }

  get stats() {
    const { context, slotCount } = this.#engine;
    const cached = this.#slots.filter(({ isBusy }) => isBusy).reduce((sum, { tokens }) => sum + tokens.length, 0);
    const running = this.#slots.filter(({ isBusy }) => isBusy).length;
    return { running, waiting: this.#queue.length, cacheUsage: cached / (context * slotCount), ...this.counts };
  }

  /** `request` has `prompt` (text or tokens), the sampling settings, `maxTokens`, `stops`; or `kind: "embed"`. */
  submit(id, request) {
    const { context, encode, vocabulary } = this.#engine;
    const prompt = typeof request.prompt === "string" ? encode(request.prompt) : request.prompt;
    const problem =
      (prompt.length === 0 && "the prompt is empty") ||
      (prompt.some((token) => !(token >= 0 && token < vocabulary)) &&
        "the prompt has a token that the model does not know");
    if (problem) return this.emit(id, { kind: "failed", code: "invalid_prompt", message: problem });
    const isFull = request.kind === "embed" ? prompt.length > context : prompt.length >= context;
    if (isFull) {
      const message = `This model's maximum context length is ${context} tokens, and the prompt has ${prompt.length}. Shorten the prompt.`;
      return this.emit(id, { kind: "failed", code: "context_length_exceeded", message });
    }
    const entry = { id, request, prompt, isCancelled: false };
    this.#requests.set(id, entry);
    this.#queue.push(entry);
    this.#dispatch();
  }

  /** The request ends after its next token; `done` follows with the reason "abort". */
  cancel(id) {
    const entry = this.#requests.get(id);
    if (entry !== undefined) entry.isCancelled = true;
    const at = this.#queue.indexOf(entry);
    if (at >= 0) this.#finish(this.#queue.splice(at, 1)[0], "abort", { generated: 0, cached: 0 });
  }

  #dispatch() {
    for (;;) {
      const free = this.#slots.filter(({ isBusy }) => !isBusy);
      if (free.length === 0 || this.#queue.length === 0) return;
      const entry = this.#queue.shift();
      const shared = new Map(free.map((slot) => [slot, sharedPrefix(slot.tokens, entry.prompt)]));
      const [slot] = free.sort((a, b) => shared.get(b) - shared.get(a) || a.usedAt - b.usedAt);
      Object.assign(slot, { isBusy: true, usedAt: ++this.#clock });
      const work =
        entry.request.kind === "embed" ? this.#embed(entry, slot) : this.#generate(entry, slot, shared.get(slot));
      void work
        .catch((error) => this.#fail(entry, slot, error))
        .finally(() => {
          slot.isBusy = false;
          this.#dispatch();
        });
    }
  }

  async #generate(entry, slot, shared) {
    const { prompt, request } = entry;
    const cached = Math.min(shared, prompt.length - 1); // the last token is computed again to get its scores
    this.counts.prefixQueries += prompt.length;
    this.counts.prefixHits += cached;
    this.emit(entry.id, { kind: "started", promptTokens: prompt.length, cachedTokens: cached });
    const limit = Math.min(request.maxTokens, this.#engine.context - prompt.length);
    const stream = new TextStream(request.stops);
    let [next, generated, reason] = [prompt.slice(cached), 0, undefined];
    await this.#engine.truncate(slot.index, cached);
    slot.tokens.length = cached;
    while (reason === undefined) {
      const logits = await this.#engine.evaluate(slot.index, next);
      slot.tokens.push(...next);
      if (entry.isCancelled) reason = "abort";
      else {
        const token = pick(logits, request, slot.tokens.length);
        next = [token];
        reason = this.#deliver(entry, stream, token, logits);
        generated += 1;
        if (reason === undefined && generated >= limit) reason = "length";
      }
    }
    const rest = reason === "abort" ? "" : stream.end();
    if (rest !== "") this.emit(entry.id, { kind: "text", text: rest, tokens: 0 });
    this.#finish(entry, reason, { generated, cached });
  }

  /** Emits a token's text; "stop" if the token or its text ends the generation. */
  #deliver(entry, stream, token, logits) {
    const { request } = entry;
    const { bytesOf, isEnd } = this.#engine;
    if (isEnd(token) && !request.ignoreEnd) return "stop";
    const text = stream.push(bytesOf(token));
    const event = { kind: "text", text, tokens: 1 };
    if (request.topLogprobs !== undefined) event.logprobs = [this.#describe(token, logits, request.topLogprobs)];
    this.emit(entry.id, event);
    return stream.isStopped ? "stop" : undefined;
  }

  #describe(token, logits, count) {
    const values = logProbabilities(logits);
    const entryOf = (each) => ({ bytes: [...this.#engine.bytesOf(each)], logprob: values[each] });
    const order = Array.from(values.keys()).sort((a, b) => values[b] - values[a]);
    return { ...entryOf(token), top: order.slice(0, count).map(entryOf) };
  }

  async #embed(entry, slot) {
    this.emit(entry.id, { kind: "started", promptTokens: entry.prompt.length, cachedTokens: 0 });
    await this.#engine.truncate(slot.index, 0);
    slot.tokens.length = 0;
    const vector = await this.#engine.embed(slot.index, entry.prompt);
    await this.#engine.truncate(slot.index, 0);
    const length = Math.hypot(...vector) || 1;
    this.emit(entry.id, { kind: "vector", vector: vector.map((value) => value / length) });
    this.#finish(entry, "stop", { generated: 0, cached: 0 });
  }

  #finish({ id, prompt }, reason, { generated, cached }) {
    this.#requests.delete(id);
    this.emit(id, {
      kind: "done",
      reason,
      promptTokens: prompt.length,
      generatedTokens: generated,
      cachedTokens: cached,
    });
  }

  /** The slot's cache is unknown after an error: the next request computes its whole prompt. */
  #fail({ id }, slot, error) {
    slot.tokens.length = 0;
    this.#requests.delete(id);
    this.emit(id, { kind: "failed", code: "internal_error", message: error.message });
  }
}

function sharedPrefix(a, b) {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length += 1;
  return length;
}
