import { hash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { Teams } from "./teams.ts";

const keyOf = (name: string, rest: object = {}) => ({ name, sha256: hash("sha256", name), ...rest });

it("has the lowest priority of its keys as the identity of a team, whatever their order", () => {
  const keys = [keyOf("jobs", { priorityMax: "low" }), keyOf("app")];
  for (const each of [keys, keys.toReversed()]) {
    const teams = new Teams([{ weight: 1, priorityMax: "high", name: "a", keys: each }], () => 1000);
    expect(teams.ofTeam("a")?.priorityMax).toBe("low");
  }
});

it("forgets expired keys in the identity of a team, for work without a key", () => {
  let nowMs = 1000;
  const teams = new Teams(
    [
      {
        weight: 1,
        priorityMax: "normal",
        name: "a",
        keys: [keyOf("first", { expires: 5000, models: ["m"] }), keyOf("second", { expires: 9000 })],
      },
      { weight: 1, priorityMax: "normal", name: "b", keys: [keyOf("only", { expires: 5000 })] },
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

describe("access tokens of the control plane", () => {
  const money = { nanoUsd: 5, period: "month" } as const;
  const lab = {
    weight: 2,
    priorityMax: "high" as const,
    name: "lab",
    keys: [keyOf("own")],
    budget: money,
    dataRule: "internal",
    models: ["m"],
  };
  const token = (team: string, rest: object = {}) => ({
    name: "app",
    team,
    sha256: hash("sha256", `secret of ${team}`),
    expiresAtMs: null,
    ...rest,
  });

  it("count to the nearest listed team above, and stay apart from its files", () => {
    const teams = new Teams([lab], () => 1000, [token("lab/nlp/deep"), token("lab"), token("other"), token("labs")]);
    const below = teams.find("secret of lab/nlp/deep");
    expect(below).toMatchObject({ team: "lab/nlp/deep", account: "lab", key: "token:app", weight: 2 });
    expect(below?.limits).toEqual(teams.find("own")?.limits);
    expect(below).toMatchObject({ dataRules: ["internal"], models: new Set(["m"]) });
    expect(teams.find("secret of lab")).toMatchObject({ team: "lab", account: "lab" });
    expect(teams.find("secret of other")).toBeUndefined();
    expect(teams.find("secret of labs")).toBeUndefined();
    expect(teams.ofTeam("lab/nlp/deep")).toMatchObject({ team: "lab/nlp/deep", account: "lab" });
  });

  it("end when they expire", () => {
    let nowMs = 1000;
    const teams = new Teams([lab], () => nowMs, [token("lab", { expiresAtMs: 2000 })]);
    expect(teams.find("secret of lab")?.team).toBe("lab");
    nowMs = 2000;
    expect(teams.find("secret of lab")).toBeUndefined();
  });
});
