import { describe, expect, it } from "vitest";
import { uniformDraws } from "../spares/uniform-draws.ts";
import { SlowNodes } from "./slow-nodes.ts";

const NODES = 64;

/** Normal noise; every two-hundredth time is an outlier of up to half a step more. */
function noisy(seed: number): (sigma: number) => number {
  const draw = uniformDraws(seed);
  return (sigma) => {
    const normal = Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
    return Math.exp(sigma * normal + (draw() < 0.005 ? 0.5 * draw() : 0));
  };
}

const names = Array.from({ length: NODES }, (_, index) => `n${index}`);

describe("nodes that become slow", () => {
  it.each([0.005, 0.01, 0.02])("are named at the third or fourth slow step, at a noise of %d", (sigma) => {
    let [found, late, wrong] = [0, 0, 0];
    for (let seed = 1; seed <= 20; seed++) {
      const draw = noisy(seed);
      const slow = new Set(names.filter((_, index) => (index + seed) % 11 === 0));
      const test = new SlowNodes();
      for (let step = 1; step <= 60; step++) {
        const times = names.map((node) => ({
          node,
          seconds: 4 * draw(sigma) * (step > 30 && slow.has(node) ? 1.1 : 1),
        }));
        for (const { node, step: namedAt, since_step: since, slower_pct: slower } of test.observe(step, times)) {
          if (!slow.has(node) || namedAt <= 30) wrong++;
          else {
            found++;
            late += namedAt > 34 ? 1 : 0;
            expect([since >= 29, slower > 5 && slower < 20]).toEqual([true, true]);
          }
        }
      }
    }
    const planted = Array.from({ length: 20 }, (_, index) => names.filter((__, at) => (at + index + 1) % 11 === 0));
    expect({ missed: planted.flat().length - found, wrong }).toEqual({ missed: 0, wrong: 0 });
    expect(late / found).toBeLessThan(0.06);
  });

  it("are named again after they had recovered, and not while all nodes are slow alike", () => {
    const draw = noisy(3);
    const test = new SlowNodes();
    const named: number[] = [];
    for (let step = 1; step <= 300; step++) {
      const isSlow = (step > 50 && step <= 100) || step > 200;
      const all = step > 120 && step < 150 ? 2 : 1;
      const times = names.map((node) => ({
        node,
        seconds: all * draw(0.01) * (isSlow && node === "n7" ? 1.3 : 1),
      }));
      for (const each of test.observe(step, times)) named.push(each.node === "n7" ? each.step : -1);
    }
    expect(named).toEqual([53, 203]);
  });

  it.each([
    ["becomes too small to matter", (step: number) => ({ input: step > 100 ? 0.02 : 0.2 }), () => ({})],
    ["is no longer stated", (step: number) => (step > 100 ? {} : { input: 0.2 }), () => ({})],
    ["is no longer stated by the node", () => ({ input: 0.2 }), (step: number) => (step > 100 ? { input: 0 } : {})],
  ])("are no longer named by a part that %s", (_, all, own) => {
    const draw = noisy(5);
    const test = new SlowNodes();
    const slow: string[] = [];
    const parts: (string | undefined)[] = [];
    for (let step = 1; step <= 130; step++) {
      const times = names.map((node) => {
        const { input = 0 }: { input?: number } = { ...all(step), ...(node === "n7" ? own(step) : {}) };
        const mine = node === "n7" && step > 40 ? input * 1.3 : input;
        return { node, seconds: (4 - input + mine) * draw(0.01), parts: { input: mine * draw(0.01) } };
      });
      for (const { node, part } of test.observe(step, times)) parts.push(node === "n7" ? part : node);
      slow.push(test.slow.map(({ node }) => node).join());
    }
    expect(parts).toEqual(["input"]);
    expect([slow[35], slow[99], slow[110], slow[125]]).toEqual(["", "n7", "n7", ""]);
  });

  it.each([7, 20, 50])("are named by a part that every step of %d has, until it is over", (every) => {
    const draw = noisy(7);
    const test = new SlowNodes();
    const named: (string | undefined)[] = [];
    const slow: string[] = [];
    for (let step = 1; step <= 60 * every; step++) {
      const checkpoint = step % every === 0 && step <= 30 * every ? 2 : 0;
      const times = names.map((node) => {
        const mine = node === "n5" ? checkpoint * 1.4 : checkpoint;
        return { node, seconds: 4 * draw(0.01) + mine, parts: { checkpoint: mine * draw(0.01) } };
      });
      for (const { node, part, step: at } of test.observe(step, times)) {
        named.push(node === "n5" ? part : node);
        expect(at).toBeLessThanOrEqual(4 * every);
      }
      slow.push(test.slow.map(({ node }) => node).join());
    }
    expect(named).toEqual(["checkpoint"]);
    expect([slow[5 * every + 1], slow[40 * every], slow[55 * every]]).toEqual(["n5", "n5", ""]);
  });

  it("are not looked for among fewer than four", () => {
    const test = new SlowNodes();
    for (let step = 0; step < 50; step++)
      expect(
        test.observe(
          step,
          [1, 1, 9].map((seconds, index) => ({ node: `n${index}`, seconds })),
        ),
      ).toEqual([]);
  });
});
