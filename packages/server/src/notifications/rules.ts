/** Notification channels and rules: the file `notify.yaml` in the state directory, read by `headroom up`. */
import { readFileSync } from "node:fs";
import { names } from "@headroom/protocol";
import { z } from "zod";

export const notificationKinds = [
  "started",
  "ended",
  "failed",
  "preempted",
  "nodeLost",
  "maintenance",
  "budget",
  "slow",
  "incident",
  "trigger",
] as const;
export type NotificationKind = (typeof notificationKinds)[number];

const RULES_MAX = 100;
const CHANNELS_MAX = 100;
const RECIPIENTS_MAX = 20;

const webhook = z
  .url({ protocol: /^https?$/, error: "must be an http or https address" })
  .meta({ description: "Gets a POST with the message." });

const mailAddress = z.email({ error: "must be a mail address" });
const secretFile = z.string().startsWith("/", { error: "must be an absolute path" });

const mail = z.strictObject({
  smtp: z
    .url({ protocol: /^smtps?$/, error: "must be an address like smtps://mail.example.org:465" })
    .refine((url) => new URL(url).username === "" && new URL(url).password === "", {
      error: "must not contain a user or a password; write user and passwordFile",
    }),
  from: mailAddress,
  to: z.array(mailAddress).min(1).max(RECIPIENTS_MAX),
  user: z.string().optional(),
  passwordFile: secretFile.optional().meta({ description: "File with the password of `user`." }),
});
export type MailReceiver = z.output<typeof mail>;

/** A receiver of messages. Secrets are stated by reference to a file, or inline. */
const receiverShape = {
  webhook: webhook.optional(),
  webhookFile: secretFile.optional().meta({ description: "File with the address of the webhook, if it is a secret." }),
  format: z
    .enum(["json", "slack", "teams", "alertmanager", "pagerduty"])
    .optional()
    .meta({ description: "Form of the body of a webhook; default: json." }),
  routingKeyFile: secretFile
    .optional()
    .meta({ description: "File with the routing key of PagerDuty; only with `format: pagerduty`." }),
  secret: z.string().min(16).optional().meta({ description: "Signs the body of the webhook with HMAC-SHA-256." }),
  command: z.string().optional().meta({ description: "A shell command line; gets the message as JSON on its input." }),
  mail: mail.optional(),
};

interface Stated {
  readonly webhook?: string | undefined;
  readonly webhookFile?: string | undefined;
  readonly command?: string | undefined;
  readonly mail?: unknown;
  readonly channel?: string | undefined;
}

const receiversIn = (stated: Stated): number =>
  [stated.webhook, stated.webhookFile, stated.command, stated.mail, stated.channel].filter((each) => each !== undefined)
    .length;

const channel = z.strictObject(receiverShape).refine((stated) => receiversIn(stated) === 1, {
  error: "must have exactly one of webhook, webhookFile, command and mail",
});

const rule = z
  .strictObject({
    on: z.array(z.enum(notificationKinds)).min(1).meta({
      description:
        "`started`: its first task starts; `ended`: any end; `failed`: an end without success; `preempted`: stopped for other work; `nodeLost`: it lost a node; `maintenance`: stopped for a window, a notice or a drain; `budget`: a threshold of the budget is reached; `slow`: a run is 15% slower than predicted for its kind; `incident`: an incident opens or ends; `trigger`: a scaling trigger fires or ends.",
    }),
    team: z.string().optional().meta({ description: "Only this team and the teams below it; default: all." }),
    user: z
      .string()
      .optional()
      .meta({ description: "Only workloads that this user submitted; default: of all users." }),
    channel: names.channelName.optional().meta({ description: "A channel of this file, instead of a receiver." }),
    ...receiverShape,
  })
  .refine((stated) => receiversIn(stated) === 1, {
    error: "must have exactly one of channel, webhook, webhookFile, command and mail",
  });

type Receiver = z.output<typeof channel>;

/** A rule with its receiver. `ofChannel`: the rule sends what workloads request for this channel (`notify`). */
export interface NotificationRule extends Receiver {
  readonly on: readonly NotificationKind[];
  readonly team?: string | undefined;
  readonly user?: string | undefined;
  readonly ofChannel?: string;
}

export const notificationRules = z
  .strictObject({
    channels: z
      .record(names.channelName, channel)
      .refine((channels) => Object.keys(channels).length <= CHANNELS_MAX, {
        error: `must have at most ${CHANNELS_MAX} channels`,
      })
      .default({}),
    notify: z.array(rule).max(RULES_MAX).default([]),
  })
  .check(({ value, issues }) => {
    for (const [index, { channel: named }] of value.notify.entries())
      if (named !== undefined && !Object.hasOwn(value.channels, named))
        issues.push({
          code: "custom",
          input: value,
          path: ["notify", index, "channel"],
          message: `there is no channel ${named}; the channels are ${Object.keys(value.channels).join(", ") || "none"}`,
        });
  })
  .transform(({ channels, notify }): { readonly notify: readonly NotificationRule[] } => ({
    notify: [
      ...notify.map(({ channel: named, ...own }) => ({ ...own, ...(named === undefined ? {} : channels[named]) })),
      ...Object.entries(channels).map(([ofChannel, receiver]) => ({ ...receiver, on: [], ofChannel })),
    ],
  }));

/** The routing key of PagerDuty, read for each message; `null`: none is declared. */
export function routingKeyOf({ routingKeyFile }: Receiver): string | null {
  return routingKeyFile === undefined ? null : readFileSync(routingKeyFile, "utf8").trim();
}

/** The address of a webhook. A file is read for each message, so that it can be replaced without a restart. */
export function webhookOf({ webhook: stated, webhookFile }: Receiver): string | undefined {
  if (webhookFile === undefined) return stated;
  return webhook.parse(readFileSync(webhookFile, "utf8").trim());
}
