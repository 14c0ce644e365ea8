/** From scores to tokens to text: repeatable draws, complete characters, stop strings. */
import { describe, expect, it } from "vitest";
import { draw } from "../quickstart/model.mjs";
import { logProbabilities, pick } from "./sampler.mjs";
import { TextStream } from "./text-stream.mjs";

describe("text", () => {
  const sent = (stops: readonly string[], pieces: readonly (string | Buffer)[]) => {
    const stream = new TextStream(stops);
    const texts = pieces.map((piece) => stream.push(Buffer.from(piece)));
    return { texts, rest: stream.end(), isStopped: stream.isStopped };
  };

  it("waits for the rest of a character", () => {
    const bytes = Buffer.from("a€b");
    expect(
      sent(
        [],
        [...bytes].map((byte) => Buffer.of(byte)),
      ),
    ).toMatchObject({ texts: ["a", "", "", "€", "b"], rest: "" });
    expect(sent([], [bytes.subarray(0, 2)])).toMatchObject({ texts: ["a"], rest: "\ufffd" });
  });

  it("never sends a stop string or its beginning, and what turned out to be none in the end", () => {
    expect(sent(["END"], ["to E", "N", "D of"])).toEqual({ texts: ["to ", "", ""], rest: "", isStopped: true });
    expect(sent(["END"], ["to E", "N"])).toEqual({ texts: ["to ", ""], rest: "EN", isStopped: false });
    expect(sent(["END"], ["EN", "EN", "D"])).toEqual({ texts: ["", "EN", ""], rest: "", isStopped: true });
    expect(sent(["b", "abc"], ["ab"])).toEqual({ texts: ["a"], rest: "", isStopped: true });
  });
});

describe("drawing", () => {
  const logits = Float32Array.from({ length: 50 }, (_, i) => 4 * draw(1, i, 0));
  const plain = { temperature: 1, topP: 1, topK: 0, seed: 3 };

  it("takes the highest score at temperature 0", () => {
    expect(pick(logits, { ...plain, temperature: 0 }, 0)).toBe(logits.indexOf(Math.max(...logits)));
  });

  it("depends on seed and position alone, and follows the probabilities", () => {
    const counts = new Map<number, number>();
    const N = 20_000;
    for (let i = 0; i < N; i++) {
      const token = pick(logits, plain, i);
      expect(pick(logits, plain, i)).toBe(token);
      counts.set(token, (counts.get(token) ?? 0) + 1);
    }
    for (const [token, value] of logProbabilities(logits).entries()) {
      const chance = Math.exp(value);
      // Six standard deviations of a binomial count.
      expect(Math.abs((counts.get(token) ?? 0) / N - chance)).toBeLessThan(6 * Math.sqrt(chance / N));
    }
  });

  it("leaves out what topK and topP leave out", () => {
    const order = Array.from(logits.keys()).sort((a, b) => logits[b]! - logits[a]!);
    const seen = (settings: object) =>
      new Set(Array.from({ length: 500 }, (_, i) => pick(logits, { ...plain, ...settings }, i)));
    expect(seen({ topK: 3 })).toEqual(new Set(order.slice(0, 3)));
    expect(seen({ topP: 0 })).toEqual(new Set([order[0]]));
  });
});
