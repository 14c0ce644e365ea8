import { describe, expect, it } from "vitest";
import { joinPages } from "./joined-pages.ts";

describe("pages put together", () => {
  it("shows an item once that moved to an earlier page between two answers", () => {
    const joined = joinPages([["a", "b", "c"], ["c", "d"], [], ["a", "e"]], (item) => item);
    expect(joined.items).toEqual(["a", "b", "c", "d", "e"]);
    expect(joined.pageOf).toEqual([0, 0, 0, 1, 3]);
  });
});
