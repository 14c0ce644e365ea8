import { attemptId, teamName, workloadId } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { planSentence, teamSharesOf, victimSentence } from "./eviction-text.ts";

type Planned = Parameters<typeof planSentence>[0];

const plan = (of: Pick<Planned, "victims" | "preemptor">): Planned => ({
  workloadId: workloadId("w9"),
  task: 0,
  reason: "preempted",
  ...of,
});

const victim = (id: string, team: string, [before, after]: readonly [number, number]) => ({
  attemptId: attemptId(id),
  keeps: 0,
  team: teamName(team),
  teamShareBeforeMilli: before,
  teamShareAfterMilli: after,
});

describe("a plan within one team", () => {
  const planned = plan({
    victims: [victim("w1.1", "one", [1000, 500]), victim("w2.1", "one", [1000, 750])],
    preemptor: { team: teamName("one"), shareBeforeMilli: 1000, shareAfterMilli: 1500 },
  });

  it("says where the team ends with what it gets", () => {
    expect(planSentence(planned)).toContain("Team one goes from 100% to about 75% of its entitlement.");
    expect(victimSentence(planned, planned.victims)).toContain(
      "Team one goes from 100% to about 75% of its entitlement.",
    );
  });

  it("has rows that go on from each other", () => {
    const rows = teamSharesOf(planned).map(({ side, before, after }) => [side, before, after]);
    expect(rows).toEqual([
      ["gives", "100%", "50%"],
      ["gives", "50%", "about 25%"],
      ["gets", "about 25%", "about 75%"],
    ]);
  });
});

it("a plan between teams says what each side gives and gets", () => {
  const planned = plan({
    victims: [victim("w1.1", "one", [2000, 1500])],
    preemptor: { team: teamName("two"), shareBeforeMilli: 0, shareAfterMilli: 500 },
  });
  expect(planSentence(planned)).toContain(
    "Team one goes from 200% to 150% of its entitlement. Team two goes from 0% to 50% of its entitlement.",
  );
});
