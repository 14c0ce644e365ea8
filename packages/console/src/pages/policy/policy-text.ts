/** A policy in words, made of its knobs: presets and policies of one's own read alike. */
import type { Policy } from "@headroom/protocol";

const orderWords = {
  submitted: "order of submission",
  priority: "priority",
  walltime: "walltime, shortest first",
} as const;

export interface PolicyLine {
  readonly knob: string;
  readonly text: string;
}

export function policyLines({ order, whenHeadBlocked, placement, exceedsFleet }: Policy): readonly PolicyLine[] {
  const keys = order.map((key) => orderWords[key]);
  const withEnd = order.at(-1) === "submitted" ? keys : [...keys, orderWords.submitted];
  return [
    { knob: "Order", text: withEnd.join(", then ") },
    {
      knob: "When the first does not fit",
      text:
        whenHeadBlocked === "stop"
          ? "nothing behind it starts"
          : "whatever fits behind it starts, without a reservation for it",
    },
    {
      knob: "Placement",
      text: placement === "pack" ? "on the fullest nodes that have room" : "on the emptiest nodes",
    },
    {
      knob: "Larger than the fleet",
      text: exceedsFleet === "hold" ? "waits until the fleet has grown" : "is refused",
    },
  ];
}

/** What a preset is for, beyond what its knobs say. A policy of one's own has no such line. */
export const presetPurposes: Readonly<Record<string, string>> = {
  default: "Important work first, and nothing idle that could run.",
  fifo: "Strictly in turn: predictable, at the price of idle accelerators while a large gang waits.",
  "fifo-skip": "In turn, but around what does not fit. Large gangs can starve.",
  sjf: "Short work first: the shortest waits on average. Work without a walltime comes last.",
};
