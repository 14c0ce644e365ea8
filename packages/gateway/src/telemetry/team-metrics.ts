/**
 * Usage by team and key, and limits by team. Labels are bounded: the first keys that send a request have series of
 * their own, later ones share the series `other`. A series never changes its place, so that counters only grow.
 */
import type { TeamLimits } from "../limits/account.ts";
import type { LimitDefinition } from "../limits/ledger.ts";
import type { ExchangeSummary } from "../exchange/runtime.ts";
import { escaped, family } from "./prometheus-text.ts";
import { countedOutcomeOf } from "./recent-minutes.ts";

/** Series by key, and teams with gauges of their limits. */
const KEYS_MAX = 200;
const LIMITED_MAX = 200;

export interface LimitedTeam {
  readonly team: string;
  readonly limits: TeamLimits;
}

export interface LimitState {
  readonly team: string;
  readonly kind: "requests" | "tokens" | "money";
  /** In requests or tokens of a minute, or in USD of the period. */
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  readonly period: string;
}

/** Counts of one key since the start of the gateway. */
export interface TeamCounts {
  readonly team: string;
  readonly key: string;
  /** Requests by outcome. */
  readonly requests: ReadonlyMap<string, number>;
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly nanoUsd: number;
}

interface Counts extends TeamCounts {
  readonly labels: string;
  readonly requests: Map<string, number>;
  input: number;
  cached: number;
  output: number;
  nanoUsd: number;
}

export class TeamMetrics {
  readonly #byTeam = new Map<string, Map<string, Counts>>();
  readonly #all: Counts[] = [];
  #other: Counts | undefined;

  /** Counts of the keys that have series of their own. */
  get counts(): readonly TeamCounts[] {
    return this.#all;
  }

  observe(summary: ExchangeSummary): void {
    const { record } = summary;
    if (record.team === "") return;
    const counts = this.#countsOf(record.team, record.key);
    const outcome = countedOutcomeOf(summary);
    counts.requests.set(outcome, (counts.requests.get(outcome) ?? 0) + 1);
    counts.input += record.promptTokens;
    counts.cached += record.cachedTokens;
    counts.output += record.completionTokens;
    counts.nanoUsd += record.nanoUsd;
  }

  text(limits: readonly LimitState[]): string {
    const all = this.#other === undefined ? this.#all : [...this.#all, this.#other];
    const name = (suffix: string): string => `headroom_gateway_team_${suffix}`;
    const requests = all.flatMap(({ labels, requests: own }) =>
      [...own].map(([outcome, count]) => `${labels},outcome="${outcome}"} ${count}`),
    );
    const tokens = all.flatMap(({ labels, input, cached, output }) => [
      `${labels},type="input"} ${input}`,
      `${labels},type="cached"} ${cached}`,
      `${labels},type="output"} ${output}`,
    ]);
    const cost = all.map(({ labels, nanoUsd }) => `${labels}} ${nanoUsd / 1e9}`);
    return [
      family("counter", name("requests_total"), "Requests by team, key and outcome", requests),
      family("counter", name("tokens_total"), "Tokens by team and key; cached tokens are part of input", tokens),
      family("counter", name("cost_usd_total"), "Cost in USD by team and key", cost),
      limitText(limits),
    ].join("");
  }

  #countsOf(team: string, key: string): Counts {
    const found = this.#byTeam.get(team)?.get(key);
    if (found !== undefined) return found;
    if (this.#all.length >= KEYS_MAX) return (this.#other ??= countsFor("other", "other"));
    const counts = countsFor(team, key);
    const byKey = this.#byTeam.get(team) ?? new Map<string, Counts>();
    this.#byTeam.set(team, byKey);
    byKey.set(key, counts);
    this.#all.push(counts);
    return counts;
  }
}

function countsFor(team: string, key: string): Counts {
  const labels = `{team="${escaped(team)}",key="${escaped(key)}"`;
  return { team, key, labels, requests: new Map(), input: 0, cached: 0, output: 0, nanoUsd: 0 };
}

/** The limits that are used most come first; the rest has no gauges. */
function limitText(limits: readonly LimitState[]): string {
  const shown = (limits.length > 3 * LIMITED_MAX ? limits.filter(({ used }) => used > 0) : limits)
    .toSorted((a, b) => b.used / b.limit - a.used / a.limit || (a.team < b.team ? -1 : 1))
    .slice(0, 3 * LIMITED_MAX);
  const lines = (kinds: readonly string[], value: (state: LimitState) => number): string[] =>
    shown
      .filter(({ kind }) => kinds.includes(kind))
      .map((each) => `{team="${escaped(each.team)}",${ofPeriod(each)}} ${value(each)}`);
  const rates = ["requests", "tokens"];
  const name = (suffix: string): string => `headroom_gateway_team_${suffix}`;
  return [
    family(
      "gauge",
      name("limit"),
      "Limit of a minute",
      lines(rates, ({ limit }) => limit),
    ),
    family(
      "gauge",
      name("limit_used"),
      "Amount in use of a limit of a minute",
      lines(rates, ({ used }) => used),
    ),
    family(
      "gauge",
      name("budget_usd"),
      "Budget of the period",
      lines(["money"], ({ limit }) => limit),
    ),
    family(
      "gauge",
      name("budget_spent_usd"),
      "Money spent in the period",
      lines(["money"], ({ used }) => used),
    ),
    family(
      "gauge",
      name("budget_remaining_usd"),
      "Money left in the period",
      lines(["money"], (each) => each.remaining),
    ),
  ].join("");
}

function ofPeriod({ kind, period }: LimitState): string {
  return kind === "money" ? `period="${period}"` : `kind="${kind}"`;
}

/** `used` states what a limit counts now. */
export function limitStates(
  teams: readonly LimitedTeam[],
  used: (definition: LimitDefinition) => number,
): readonly LimitState[] {
  return teams.flatMap(({ team, limits }) =>
    [limits.requests, limits.tokens, limits.money]
      .filter((each) => each !== undefined)
      .map((definition): LimitState => {
        const scale = definition.kind === "money" ? 1e9 : 1;
        const limit = definition.limit / scale;
        const amount = used(definition) / scale;
        const { kind, period = "minute" } = definition;
        return { team, kind, limit, used: amount, remaining: Math.max(0, limit - amount), period };
      }),
  );
}
