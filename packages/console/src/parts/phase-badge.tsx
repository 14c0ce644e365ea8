/** Shows the phase of an object, always as a word with a colour and a shape. */
import type { WorkloadPhase } from "@headroom/protocol";
import type { ReactElement } from "react";

export type Tone = "run" | "wait" | "good" | "bad" | "stop" | "idle";

const toneText: Readonly<Record<Tone, string>> = {
  run: "text-run",
  wait: "text-wait",
  good: "text-good",
  bad: "text-bad",
  stop: "text-stop",
  idle: "text-idle",
};

export const toneFill: Readonly<Record<Tone, string>> = {
  run: "bg-run",
  wait: "bg-wait",
  good: "bg-good",
  bad: "bg-bad",
  stop: "bg-stop",
  idle: "bg-idle",
};

const toneSoft: Readonly<Record<Tone, string>> = {
  run: "bg-run-soft",
  wait: "bg-wait-soft",
  good: "bg-good-soft",
  bad: "bg-bad-soft",
  stop: "bg-stop-soft",
  idle: "bg-idle-soft",
};

const phaseTone: Readonly<Record<WorkloadPhase, Tone>> = {
  pending: "wait",
  running: "run",
  stopping: "stop",
  succeeded: "good",
  failed: "bad",
  cancelled: "idle",
};

export function Badge({ tone, children }: { readonly tone: Tone; readonly children: string }): ReactElement {
  return (
    <span
      className={`inline-flex items-center gap-1.5 rounded-sm px-1.5 text-xs font-medium ${toneSoft[tone]} ${toneText[tone]}`}
    >
      <span aria-hidden="true" className={`size-1.5 ${tone === "wait" ? "rounded-none" : "rounded-full"} bg-current`} />
      {children}
    </span>
  );
}

/** The badge calls a pending workload "waiting", as the queue does. */
const phaseWord: Readonly<Record<WorkloadPhase, string>> = {
  pending: "Waiting",
  running: "Running",
  stopping: "Stopping",
  succeeded: "Succeeded",
  failed: "Failed",
  cancelled: "Cancelled",
};

export function PhaseBadge({ phase }: { readonly phase: WorkloadPhase }): ReactElement {
  return <Badge tone={phaseTone[phase]}>{phaseWord[phase]}</Badge>;
}
