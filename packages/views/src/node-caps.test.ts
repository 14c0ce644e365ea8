import { expect, it } from "vitest";
import { capsOfNode } from "./node-caps.ts";

it("gives the caps on the site, the switches and the labels of a node", () => {
  const cap = (level: string, ...path: string[]) => ({ of: "power" as const, level, path, capWatts: 2, drawWatts: 1 });
  const own = [cap("site", "dc"), cap("leaf", "dc", "s1", "l2"), cap("spine", "dc", "s1"), cap("rack", "dc", "r7")];
  const others = [cap("site", "lyon"), cap("leaf", "dc", "s1", "l3"), cap("rack", "dc", "r8"), cap("feed", "dc", "r7")];
  const node = { site: "dc", fabric: ["s1", "l2"], labels: { rack: "r7" } };
  expect(capsOfNode(node, [...others, ...own])).toEqual(own);
});
