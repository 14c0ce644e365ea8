/** Notifications about one workload: names of channels that the operator declared, and occasions. */
import { z } from "zod";
import * as names from "../names.ts";
import * as notation from "../encoding/notation.ts";
import { notAChoice } from "../encoding/read-values.ts";
import { read, refuse, shown, type Reading } from "../notation/reading.ts";

const notifyOccasions = ["start", "end", "nodeLoss", "maintenance"] as const;
type Occasion = (typeof notifyOccasions)[number];

const CHANNELS_MAX = 8;

const wire = z
  .strictObject({
    to: z.array(names.channelName).min(1).max(CHANNELS_MAX),
    on: z.array(z.enum(notifyOccasions)).min(1).max(notifyOccasions.length),
  })
  .meta({ id: "NotifySpec", description: "Channels of the operator, and the occasions of a message." });

export type NotifySpec = z.output<typeof wire>;

/** `team-chat`, or `team-chat:start,end`. */
function shortForm(value: unknown): Record<string, unknown> {
  const [to, on] = typeof value === "string" ? value.split(":") : [];
  return on === undefined ? { to: value } : { to, on: on.split(",") };
}

function readNotify(value: unknown): Reading<NotifySpec> {
  const isMapping = typeof value === "object" && value !== null && !Array.isArray(value);
  const { to, on = ["end"], ...others } = isMapping ? (value as Record<string, unknown>) : shortForm(value);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return refuse(`has the fields to and on, got ${unknown}`);
  const channels = Array.isArray(to) ? (to as unknown[]) : [to];
  const occasions = Array.isArray(on) ? (on as unknown[]) : [on];
  const odd = occasions.find((each) => !notifyOccasions.includes(each as Occasion));
  if (odd !== undefined) return refuse(`on ${notAChoice(odd, notifyOccasions)}`);
  const parsed = wire.safeParse({ to: channels, on: occasions });
  return parsed.success
    ? read(parsed.data)
    : refuse(`must be the name of a channel, a list of names, or { to: NAME, on: [end] }, got ${shown(value)}`);
}

export const notify = notation.scalar({
  wire,
  kind: "name of a channel, `NAME:start,end`, list of names, or `{ to, on }`",
  editor: {},
  read: readNotify,
});
