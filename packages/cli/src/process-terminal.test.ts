import { expect, it } from "vitest";
import { sizeOf } from "./process-terminal.ts";

it("takes the usual size of a terminal that states none", () => {
  expect(sizeOf({ rows: 40, columns: 120 })).toEqual({ rows: 40, columns: 120 });
  expect([sizeOf({ rows: 0, columns: 0 }), sizeOf({})]).toEqual(Array(2).fill({ rows: 24, columns: 80 }));
});
