import { expect, it } from "vitest";
import { switchTree } from "./topology.ts";

it("reads a tree of switches in the short form of names", () => {
  const { levels, above } = switchTree(
    "# two racks\nSwitchName=l1 Nodes=n[1-2] LinkSpeed=400\nSwitchName=l2 Nodes=n3,n4\n\nSwitchName=top Switches=l[1-2]\n",
  );
  expect(levels).toEqual(["spine", "leaf"]);
  expect(Object.fromEntries(above)).toEqual({
    n1: ["top", "l1"],
    n2: ["top", "l1"],
    n3: ["top", "l2"],
    n4: ["top", "l2"],
  });
});

it("reads lines that go on after a backslash, and the ends of lines of Windows", () => {
  const { above } = switchTree("SwitchName=a \\\r\n  Nodes=n1 \\\r\n LinkSpeed=4\r\nSwitchName=b Nodes=n2\r\n");
  expect(Object.fromEntries(above)).toEqual({ n1: ["a"], n2: ["b"] });
});

it("reads several switches at the top, and no switches at all", () => {
  expect(switchTree("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n").levels).toEqual(["leaf"]);
  expect(switchTree("\n# none\n")).toEqual({ levels: [], above: new Map() });
});

it.each([
  ["SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2", "line 2: the switch a is stated twice"],
  ["Nodes=n1", "line 1: expected SwitchName="],
  ["SwitchName=a Switches=b", "line 1: there is no switch b"],
  ["SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1", "line 2: n1 is below two switches"],
  ["SwitchName=a Nodes=n1\nSwitchName=x Switches=a\nSwitchName=y Switches=a", "line 3: a is below x and below y"],
  ["SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\nSwitchName=x Switches=b", "nodes have 1 or 2 switches above them"],
  ["SwitchName=a Switches=b Nodes=n1\nSwitchName=b Switches=a", "line 1: the switches above a form a circle"],
  [
    "SwitchName=a Nodes=n1\nSwitchName=b Switches=a\nSwitchName=c Switches=b\nSwitchName=d Switches=c",
    "the tree has 4 levels of switches; at most 3 are read",
  ],
  ["SwitchName=a Nodes=n[1-99999999]", "more than"],
])("refuses %j", (text, message) => {
  expect(() => switchTree(text)).toThrow(message);
});
