/** Warns of workloads whose deadline has passed, or is nearer than their walltime. They are accepted anyway. */
import type { ReadonlyState } from "@headroom/engine";
import { writeInstant } from "@headroom/protocol";
import type { ApplyRequest, ApplyWarning } from "@headroom/protocol";
import { durationText } from "./plain-text.ts";

type DeadlineSpec = ApplyRequest["workloads"][number];

/** Only new workloads get the warning: the verdict of an existing one says that it is late. */
export function deadlineWarnings(
  { workloads }: Pick<ReadonlyState, "workloads">,
  request: Pick<ApplyRequest, "workloads">,
  nowMs: number,
): ApplyWarning[] {
  const late = request.workloads.flatMap((spec) => {
    const message = lateSentence(spec, nowMs);
    return message === null ? [] : [{ spec, message }];
  });
  if (late.length === 0) return [];
  const active = new Set<string>();
  for (const { endedAtMs, spec } of workloads.values()) if (endedAtMs === null) active.add(`${spec.team} ${spec.name}`);
  return late.flatMap(({ spec: { team, name }, message }) =>
    active.has(`${team} ${name}`) ? [] : { team, message: `${message}. It is accepted anyway.` },
  );
}

function lateSentence({ name, deadlineMs, walltimeMs, notBeforeMs = 0 }: DeadlineSpec, nowMs: number): string | null {
  if (deadlineMs === undefined) return null;
  if (deadlineMs <= nowMs) return `The deadline of ${name}, ${writeInstant(deadlineMs)}, has passed`;
  const leftMs = deadlineMs - Math.max(nowMs, notBeforeMs);
  if (walltimeMs === null || walltimeMs <= leftMs) return null;
  const when = notBeforeMs <= nowMs ? `is in ${durationText(leftMs)}` : startedLateText(leftMs);
  return `The deadline of ${name} ${when}, and its walltime is ${durationText(walltimeMs)}: it meets the deadline only if it ends before its walltime`;
}

/** The time is counted from its `notBefore`. */
const startedLateText = (leftMs: number): string =>
  leftMs <= 0 ? "is not after its notBefore" : `is ${durationText(leftMs)} after its notBefore`;
