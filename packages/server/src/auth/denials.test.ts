import { expect, it } from "vitest";
import { Denials } from "./denials.ts";

it("keeps the denials of one token when another one floods the list", () => {
  const denials = new Denials();
  const denial = { user: "alice", token: "a", operation: "stopWorkload", permission: "workloads.write" };
  denials.record({ ...denial, atMs: 1, name: "w1" });
  for (let at = 2; at < 3_000; at++) denials.record({ ...denial, user: "bob", token: "b", atMs: at, name: `w${at}` });
  const { items } = denials;
  expect([items.length, items[0]?.atMs, items.at(-1)]).toMatchObject([1_000, 2_999, { token: "a", count: 1 }]);
});
