/** Sentences about the overflow of endpoints. */
import type { OverflowReading, OverflowState } from "@headroom/protocol";
import { durationText, grouped, plural } from "./plain-text.ts";

const leftTexts: Readonly<Record<string, string>> = {
  noReplica: "without a replica",
  failed: "after a failure",
  queueTime: "because of the queues",
  concurrency: "because of the requests in progress",
};

const stayedTexts: Readonly<Record<string, string>> = {
  dataRule: "because of a data rule",
  budget: "because of the budget",
  price: "because the target has no price",
  target: "because the target takes none",
};

export function overflowSentence(overflow: Omit<OverflowState, "sentence">): string {
  const { provider, endpoint, queueTimeMs, concurrencyMilli, reading } = overflow;
  const target = provider === undefined ? `endpoint ${endpoint ?? ""}` : `pool ${provider} of the gateway`;
  const conditions = [
    "no replica takes them",
    ...(concurrencyMilli === undefined ? [] : [`each replica has ${concurrencyMilli / 1000}`]),
    ...(queueTimeMs === undefined ? [] : [`they would wait ${durationText(queueTimeMs)}`]),
  ];
  const policy = `Requests go to ${target} while ${conditions.join(" or ")}.`;
  return reading === null ? `${policy} No gateway has reported.` : `${policy} ${readingText(overflow, reading)}`;
}

function readingText({ budget }: Omit<OverflowState, "sentence">, reading: OverflowReading): string {
  const [left, stayed] = [reading.left, reading.stayed].map(totalOf);
  const money =
    budget === undefined || reading.spentNanoUsd === null
      ? ` They cost ${usd(reading.nanoUsd)}.`
      : ` ${usd(reading.spentNanoUsd)} of ${usd(budget.microUsd * 1000)} of this ${budget.period} are spent.`;
  const stay = stayed === 0 ? "" : ` ${grouped(stayed ?? 0)} stayed (${reasonsText(reading.stayed, stayedTexts)}).`;
  const went =
    left === 0
      ? "None left"
      : `${plural(left ?? 0, "request")} left (${reasonsText(reading.left, leftTexts)}${targetsText(reading.targets)})`;
  return `${went} since the start of the gateway.${stay}${left === 0 && budget === undefined ? "" : money}`;
}

/** `; 100 to site-b, 12 to provider`: nothing if there is one target. */
function targetsText(targets: OverflowReading["targets"] = {}): string {
  const counts = Object.entries(targets).toSorted(([, left], [, right]) => right - left);
  if (counts.length < 2) return "";
  return `; ${counts.map(([pool, count]) => `${grouped(count)} to ${pool}`).join(", ")}`;
}

const reasonsText = (counts: Readonly<Record<string, number>>, texts: Readonly<Record<string, string>>): string =>
  Object.entries(counts)
    .map(([reason, count]) => `${grouped(count)} ${texts[reason] ?? reason}`)
    .join(", ");

const totalOf = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

const usd = (nanoUsd: number): string => `${(nanoUsd / 1e9).toFixed(nanoUsd % 1e7 === 0 ? 2 : 4)} USD`;
