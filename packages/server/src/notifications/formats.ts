/** Forms of a message for receivers that expect their own: chat webhooks of Slack and Teams, and mail. */
import type { NotificationMessage } from "./message.ts";

export type WebhookFormat = "json" | "slack" | "teams";

/** The body of a POST. */
export function bodyOf(format: WebhookFormat, message: NotificationMessage): string {
  switch (format) {
    case "json":
      return JSON.stringify(message);
    case "slack":
      return JSON.stringify({ text: `*${escapedForSlack(titleOf(message))}*\n${escapedForSlack(message.sentence)}` });
    case "teams":
      return JSON.stringify(teamsCard(message));
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

const words: Readonly<Record<NotificationMessage["kinds"][number], string>> = {
  started: "started",
  ended: "ended",
  failed: "failed",
  preempted: "is preempted",
  nodeLost: "lost a node",
  maintenance: "stops for maintenance",
  budget: "budget",
  slow: "runs slowly",
};

/** `Headroom: llama-ft failed (research/nlp)`, in one line: the subject of a mail must not have others. */
export function titleOf({ kinds, workload, team }: NotificationMessage): string {
  const kind = kinds.includes("failed") ? "failed" : (kinds[0] ?? "ended");
  const subject = workload === null ? `budget of ${team}` : `${workload.name} ${words[kind]} (${team})`;
  return `Headroom: ${subject}`.replaceAll(/[\r\n]+/g, " ");
}
