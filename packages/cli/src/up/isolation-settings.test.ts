import { expect, it } from "vitest";
import { isolationSettings } from "./isolation-settings.ts";

it("reads modes, and the users of teams as a table", () => {
  const users = ["research/nlp=ml-research", "*=guests"];
  expect(isolationSettings({ isolation: "none", network: "team", users })).toEqual({
    isolation: "none",
    network: "team",
    users: { "research/nlp": "ml-research", "*": "guests" },
  });
  expect(isolationSettings({})).toEqual({});
});

it.each([
  [{ isolation: "docker" }, "isolation must be one of auto, bubblewrap, none, got docker"],
  [{ network: "own" }, "network must be one of machine, team, got own"],
  [{ users: ["research"] }, "users must be a list of TEAM=USER"],
  [{ users: ["a=b=c"] }, "users must be a list of TEAM=USER"],
  [{ users: ["__proto__=root"] }, "users must be a list of TEAM=USER"],
  [{ users: ["research = ml-research"] }, "without spaces"],
  [{ users: ["a=root"] }, "gives a the user root"],
  [{ users: ["a=b", "a=c"] }, "users names the team a twice"],
])("refuses %j", (values, message) => {
  expect(() => isolationSettings(values)).toThrow(message);
});
