/** Notification rules: the file `notify.yaml` in the state directory, read by `headroom up`. */
import { z } from "zod";

export const notificationKinds = ["ended", "failed", "preempted", "budget", "slow"] as const;
export type NotificationKind = (typeof notificationKinds)[number];

const RULES_MAX = 100;

const webhook = z
  .url({ protocol: /^https?$/, error: "must be an http or https address" })
  .meta({ description: "Gets a POST with the message as JSON." });

const rule = z
  .strictObject({
    on: z.array(z.enum(notificationKinds)).min(1).meta({
      description:
        "`ended`: any end; `failed`: an end without success; `preempted`: stopped for other work; `budget`: a threshold of the budget is reached; `slow`: a run is 15% slower than predicted for its kind.",
    }),
    team: z.string().optional().meta({ description: "Only this team and the teams below it; default: all." }),
    user: z
      .string()
      .optional()
      .meta({ description: "Only workloads that this user submitted; default: of all users." }),
    webhook: webhook.optional(),
    secret: z.string().min(16).optional().meta({ description: "Signs the body of the webhook with HMAC-SHA-256." }),
    command: z
      .string()
      .optional()
      .meta({ description: "A shell command line; gets the message as JSON on its input." }),
  })
  .refine(({ webhook: url, command }) => (url === undefined) !== (command === undefined), {
    error: "must have either webhook or command",
  });

export const notificationRules = z.strictObject({ notify: z.array(rule).max(RULES_MAX) });
export type NotificationRule = z.output<typeof rule>;
