import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NO_ROOM, Ranking } from "./ranking.ts";

const score = fc.oneof(fc.constant(NO_ROOM), fc.integer({ min: -5, max: 5 }));

describe("a ranking", () => {
  it("names what a look at every node would: the best, of equal ones the first, and how many have room", () => {
    const changes = fc.array(fc.record({ at: fc.nat(), score }), { maxLength: 30 });
    fc.assert(
      fc.property(fc.array(score, { minLength: 1, maxLength: 20 }), changes, (scores, made) => {
        const ranking = new Ranking(scores.length);
        ranking.fill((position) => scores[position] as number, scores.length);
        for (const change of made) {
          const at = change.at % scores.length;
          scores[at] = change.score;
          ranking.set(at, change.score);
        }
        const open = scores.flatMap((each, position) => (each === NO_ROOM ? [] : [position]));
        expect(ranking.roomCount).toBe(open.length);
        expect(open.map((_, nth) => ranking.withRoom(nth))).toEqual(open);
        const best = Math.max(...scores);
        expect(ranking.scoreOf(ranking.best)).toBe(best);
        if (best !== NO_ROOM) expect(ranking.best).toBe(scores.indexOf(best));
      }),
    );
  });
});
