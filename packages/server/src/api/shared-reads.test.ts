import type { Engine } from "@headroom/engine";
import { createEngine } from "@headroom/engine";
import { describe, expect, it } from "vitest";
import { SharedReads } from "./shared-reads.ts";

function setUp() {
  const engine = createEngine();
  let computedCount = 0;
  const reads = new SharedReads({
    read: async <T>(query: (of: Engine) => T): Promise<T> => query(engine),
  });
  const compute = async (): Promise<string> => {
    computedCount++;
    return `answer ${computedCount}`;
  };
  /** A round at a later time, without an event. */
  const round = (atMs: number): void => {
    engine.receive([{ kind: "tick" }], atMs);
    engine.advance();
  };
  return { reads, compute, round, computed: () => computedCount };
}

describe("shared reads", () => {
  it.for([1, 2, 16, 256, 2_000])("compute once for %i callers that come together", async (callers) => {
    const { reads, compute, computed } = setUp();
    const answers = await Promise.all(Array.from({ length: callers }, () => reads.answer("a", "joined", compute)));
    expect(new Set(answers.map(String))).toEqual(new Set(["answer 1"]));
    expect(computed()).toBe(1);
  });

  it("compute again for a caller that comes later", async () => {
    const { reads, compute } = setUp();
    expect(String(await reads.answer("a", "joined", compute))).toBe("answer 1");
    expect(String(await reads.answer("a", "joined", compute))).toBe("answer 2");
  });

  it("keep an answer until the next round, where it depends on the state alone", async () => {
    const { reads, compute, round } = setUp();
    expect(String(await reads.answer("a", "kept", compute))).toBe("answer 1");
    expect(String(await reads.answer("a", "kept", compute))).toBe("answer 1");
    round(5_000);
    expect(String(await reads.answer("a", "kept", compute))).toBe("answer 2");
  });

  it("compute different answers one after the other", async () => {
    const { reads } = setUp();
    let [running, most] = [0, 0];
    const compute = async (): Promise<string> => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return "";
    };
    await Promise.all(Array.from({ length: 40 }, (_, index) => reads.answer(String(index), "kept", compute)));
    expect(most).toBe(1);
  });

  it("refuse the 257th different answer that would wait", async () => {
    const { reads, compute } = setUp();
    const answers = Array.from({ length: 300 }, (_, index) => reads.answer(String(index), "kept", compute));
    const outcomes = await Promise.allSettled(answers);
    const refused = outcomes.filter(({ status }) => status === "rejected");
    expect(refused.length).toBeGreaterThan(40);
    expect(refused[0]).toMatchObject({ reason: { code: "overloaded" } });
    expect(String(await reads.answer("later", "kept", compute))).toMatch(/^answer/);
  });

  it("give a failure to all callers of the answer, and compute again afterwards", async () => {
    const { reads, compute } = setUp();
    const fail = (): Promise<string> => Promise.reject(new Error("no"));
    const both = await Promise.allSettled([reads.answer("a", "kept", fail), reads.answer("a", "kept", fail)]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(String(await reads.answer("a", "kept", compute))).toBe("answer 1");
  });
});
