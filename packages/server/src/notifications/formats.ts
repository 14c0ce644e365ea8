/** Forms of a message for receivers that expect their own: chat webhooks of Slack and Teams, and mail. */
import type { NotificationMessage } from "./message.ts";

export type WebhookFormat = "json" | "slack" | "teams" | "alertmanager" | "pagerduty";

/** The body of a POST. */
export function bodyOf(format: WebhookFormat, message: NotificationMessage, routingKey: string | null = null): string {
  switch (format) {
    case "json":
      return JSON.stringify(message);
    case "slack":
      return JSON.stringify({ text: `*${escapedForSlack(titleOf(message))}*\n${escapedForSlack(message.sentence)}` });
    case "teams":
      return JSON.stringify(teamsCard(message));
    case "alertmanager":
      return JSON.stringify([alertOf(message)]);
    case "pagerduty":
      return JSON.stringify(pagerDutyEvent(message, routingKey ?? ""));
  }
}

/** Slack's control characters: https://api.slack.com/reference/surfaces/formatting#escaping. */
const escapedForSlack = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** An adaptive card, which Teams' workflows accept. Its text blocks are shown as plain lines. */
const teamsCard = (message: NotificationMessage): object => ({
  type: "message",
  attachments: [
    {
      contentType: "application/vnd.microsoft.card.adaptive",
      content: {
        type: "AdaptiveCard",
        version: "1.4",
        body: [
          { type: "TextBlock", weight: "Bolder", text: escapedForCard(titleOf(message)), wrap: true },
          { type: "TextBlock", text: escapedForCard(message.sentence), wrap: true },
        ],
      },
    },
  ],
});

/** Cards read text as Markdown, so that a workload's name could otherwise become a link. */
const escapedForCard = (text: string): string => text.replaceAll(/[\\`*_[\]()<>#]/g, (char) => `\\${char}`);

/** Identity of the trouble, so that receivers join messages about it: the incident, or else the workload. */
const subjectOf = ({ incident, workload, team, sequence }: NotificationMessage): string =>
  incident?.id ?? (workload === null ? `${team} ${sequence}` : workload.id);

/** Alertmanager ends an alert without an end after `resolve_timeout`, which is five minutes by default. */
const OPEN_ALERT_MS = 30 * 86_400_000;

/** An alert of Alertmanager's API v2: https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml. */
function alertOf(message: NotificationMessage): object {
  const { incident, kinds, team, workload, sentence, atMs } = message;
  const severity = kinds.includes("incident") || kinds.includes("failed") ? "critical" : "warning";
  const labels = {
    alertname: incident === undefined ? "HeadroomMessage" : "HeadroomIncident",
    kind: kinds[0] ?? "",
    severity,
    subject: subjectOf(message),
    ...(team === "" ? {} : { team }),
    ...(workload === null ? {} : { workload: workload.name }),
  };
  const annotations = { summary: titleOf(message), description: sentence };
  if (incident === undefined) return { labels, annotations, startsAt: new Date(atMs).toISOString() };
  const { domain, what, startedAtMs, endedAtMs, runbooks = [] } = incident;
  const address = runbooks.find(({ url }) => url !== null)?.url;
  const endsAtMs = what === "ended" ? (endedAtMs ?? atMs) : atMs + OPEN_ALERT_MS;
  return {
    labels,
    // The domain of an incident can grow. As a label it would make the end another alert, and the first would stay.
    annotations: { ...annotations, domain, ...(address == null ? {} : { runbook_url: address }) },
    startsAt: new Date(startedAtMs).toISOString(),
    endsAt: new Date(endsAtMs).toISOString(),
  };
}

/** Summaries of PagerDuty have at most 1,024 characters. */
const SUMMARY_MAX = 1_024;

/** An event of PagerDuty's Events API v2: https://developer.pagerduty.com/docs/events-api-v2-overview. */
function pagerDutyEvent(message: NotificationMessage, routingKey: string): object {
  const { incident, sentence, atMs, team, kinds } = message;
  const identity = { routing_key: routingKey, dedup_key: `headroom ${subjectOf(message)}` };
  if (incident?.what === "ended") return { ...identity, event_action: "resolve" };
  const links = (incident?.runbooks ?? []).flatMap(({ for: key, url }) =>
    url === null ? [] : [{ href: url, text: `Runbook for ${key}` }],
  );
  return {
    ...identity,
    event_action: "trigger",
    ...(links.length === 0 ? {} : { links }),
    payload: {
      summary: `${titleOf(message)}: ${sentence}`.slice(0, SUMMARY_MAX),
      source: incident?.domain ?? "headroom",
      severity: incident === undefined ? "warning" : "critical",
      timestamp: new Date(incident?.startedAtMs ?? atMs).toISOString(),
      class: kinds[0] ?? "",
      custom_details: incident ?? { team },
    },
  };
}

const words: Readonly<Record<NotificationMessage["kinds"][number], string>> = {
  started: "started",
  ended: "ended",
  failed: "failed",
  preempted: "is preempted",
  nodeLost: "lost a node",
  maintenance: "stops for maintenance",
  budget: "budget",
  slow: "runs slowly",
  incident: "incident",
  trigger: "scaling trigger",
};

/** `Headroom: llama-ft failed (research/nlp)`, in one line: the subject of a mail must not have others. */
export function titleOf({ kinds, workload, team, incident }: NotificationMessage): string {
  if (incident !== undefined) return `Headroom: incident ${incident.id} ${incident.what}`;
  if (kinds.includes("trigger")) return "Headroom: scaling trigger";
  const kind = kinds.includes("failed") ? "failed" : (kinds[0] ?? "ended");
  const subject = workload === null ? `budget of ${team}` : `${workload.name} ${words[kind]} (${team})`;
  return `Headroom: ${subject}`.replaceAll(/[\r\n]+/g, " ");
}
