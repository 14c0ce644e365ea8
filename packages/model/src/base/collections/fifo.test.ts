import fc from "fast-check";
import { expect, it } from "vitest";
import { Fifo } from "./fifo.ts";

it("gives back what it was given, oldest first, like an array that is shifted", () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), fc.array(fc.option(fc.integer())), (initial, steps) => {
      const fifo = new Fifo(initial);
      const model = [...initial];
      for (const step of steps) {
        if (step === null) expect(fifo.shift()).toBe(model.shift());
        else {
          fifo.push(step);
          model.push(step);
        }
      }
      while (model.length > 0) expect(fifo.shift()).toBe(model.shift());
      expect(fifo.shift()).toBeUndefined();
    }),
  );
});
