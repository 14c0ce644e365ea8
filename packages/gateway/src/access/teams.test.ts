import { hash } from "node:crypto";
import { expect, it } from "vitest";
import { Teams } from "./teams.ts";

const keyOf = (name: string, rest: object = {}) => ({ name, sha256: hash("sha256", name), ...rest });

it("forgets expired keys in the identity of a team, for work without a key", () => {
  let nowMs = 1000;
  const teams = new Teams(
    [
      {
        weight: 1,
        name: "a",
        keys: [keyOf("first", { expires: 5000, models: ["m"] }), keyOf("second", { expires: 9000 })],
      },
      { weight: 1, name: "b", keys: [keyOf("only", { expires: 5000 })] },
    ],
    () => nowMs,
  );
  expect(teams.ofTeam("a")?.models).toEqual(new Set(["m"]));
  expect(teams.ofTeam("b")?.team).toBe("b");
  nowMs = 5000;
  // The key that was limited to one model is no longer one of the team's.
  expect(teams.ofTeam("a")).toMatchObject({ team: "a", models: undefined, expiresAtMs: undefined });
  expect(teams.ofTeam("b")).toBeUndefined();
  nowMs = 9000;
  expect(teams.ofTeam("a")).toBeUndefined();
  expect(teams.ofTeam("none")).toBeUndefined();
});
