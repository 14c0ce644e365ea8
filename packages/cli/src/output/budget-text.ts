/**
 * The line about a team's budget below the table of teams: usage, the time at which the budget will be used up, and a
 * warning when it is.
 */
import type { Team } from "@headroom/protocol";
import { budgetSentence, forecastSentences, isUsedUp } from "@headroom/views/text";
import type { Paint } from "./style.ts";

export function budgetLines(team: Team, paint: Paint): string[] {
  const sentence = budgetSentence(team);
  if (sentence === null) return [];
  const what = `budget of ${team.name}`;
  if (isUsedUp(team)) return [`${paint("yellow", `${what} is used up:`)} ${sentence}`];
  return [`${what}: ${sentence}`, ...forecastSentences(team).map((each) => `  ${each}`)];
}
