/** The attempts of a workload on one time scale. Text beside the bars describes each attempt. */
import type { Workload } from "@headroom/protocol";
import { exitSentence, gangSizeText, plural, stagingText } from "@headroom/views";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ReactElement } from "react";
import { useNow } from "../../connect/use-now.ts";
import { spanText } from "../../format/amounts.ts";
import { Button } from "../../parts/button.tsx";
import { Panel } from "../../parts/page.tsx";
import { Badge, toneFill } from "../../parts/phase-badge.tsx";
import { Moment } from "../../parts/time-text.tsx";
import { attemptLines, type AttemptLine, type AttemptSpan } from "./attempt-spans.ts";
import type { CheckpointMark } from "./history/progress-history.ts";

interface AttemptsPanelProps {
  readonly workload: Workload;
  readonly checkpoints: readonly CheckpointMark[];
}

/** Number of attempts shown at first. More of them would push the logs out of sight. */
const SHOWN_FIRST = 8;

export function AttemptsPanel({ workload, checkpoints }: AttemptsPanelProps): ReactElement {
  const nowMs = useNow();
  const [isAll, setIsAll] = useState(false);
  const endAtMs = workload.endedAtMs ?? Math.max(nowMs, workload.submittedAtMs + 1_000);
  const lines = attemptLines(workload, nowMs);
  const shown = isAll ? lines : lines.slice(-SHOWN_FIRST);
  const scale: Scale = { fromMs: workload.submittedAtMs, toMs: Math.max(endAtMs, workload.submittedAtMs + 1) };
  return (
    <Panel title="Attempts" aside={<Key />}>
      {lines.length === 0 ? (
        <p className="px-4 py-3 text-ink-2">It was not placed yet, so there is no attempt.</p>
      ) : null}
      <ol className="divide-y divide-line">
        {shown.map((line) => (
          <AttemptRow
            key={line.attempt.id}
            line={line}
            scale={scale}
            gang={workload.gang}
            hasTasks={workload.kind !== "train"}
            checkpoints={checkpoints.filter(({ attemptId }) => attemptId === line.attempt.id)}
          />
        ))}
      </ol>
      {lines.length > shown.length ? (
        <div className="border-t border-line px-4 py-2">
          <Button look="quiet" onClick={() => setIsAll(true)}>
            Show {lines.length - shown.length} earlier
          </Button>
        </div>
      ) : null}
      {lines.length === 0 ? null : <Axis scale={scale} />}
    </Panel>
  );
}

interface Scale {
  readonly fromMs: number;
  readonly toMs: number;
}

const shareOf = ({ fromMs, toMs }: Scale, atMs: number): number =>
  Math.max(0, Math.min(100, (100 * (atMs - fromMs)) / (toMs - fromMs)));

function Key(): ReactElement {
  return (
    <p aria-hidden="true" className="flex gap-3 text-xs text-ink-3">
      <span className="flex items-center gap-1.5">
        <span className="h-1 w-3 bg-wait" /> waiting
      </span>
      <span className="flex items-center gap-1.5">
        <span className="h-2 w-3 bg-run-soft outline outline-run" /> launching
      </span>
      <span className="flex items-center gap-1.5">
        <span className="h-2 w-3 bg-run" /> running
      </span>
      <span className="flex items-center gap-1.5">
        <span className="h-3 w-0.5 bg-ink" /> checkpoint
      </span>
    </p>
  );
}

interface AttemptRowProps {
  readonly line: AttemptLine;
  readonly scale: Scale;
  readonly gang: Workload["gang"];
  readonly hasTasks: boolean;
  readonly checkpoints: readonly CheckpointMark[];
}

function AttemptRow({ line, scale, gang, hasTasks, checkpoints }: AttemptRowProps): ReactElement {
  const { attempt, spans, tone, word } = line;
  return (
    <li className="px-4 py-2.5">
      <div className="mb-1.5 flex flex-wrap items-center gap-x-3 gap-y-0.5">
        <span className="font-medium">
          {hasTasks ? `Task ${attempt.task}, attempt ${attempt.number}` : `Attempt ${attempt.number}`}
        </span>
        <Badge tone={tone}>{word}</Badge>
        <span className="text-ink-2">
          <Facts line={line} gang={gang} checkpointCount={checkpoints.length} />
        </span>
      </div>
      <div aria-hidden="true" className="relative h-4 overflow-hidden rounded-sm bg-sunken">
        {spans.map((span) => (
          <Bar key={span.kind} span={span} scale={scale} fill={toneFill[tone]} />
        ))}
        {checkpoints.map(({ step, atMs }) => (
          <span
            key={`${step} ${atMs}`}
            className="absolute inset-y-0 w-0.5 bg-surface"
            style={{ left: `${shareOf(scale, atMs)}%` }}
          />
        ))}
      </div>
    </li>
  );
}

function Bar({
  span,
  scale,
  fill,
}: {
  readonly span: AttemptSpan;
  readonly scale: Scale;
  readonly fill: string;
}): ReactElement {
  const left = shareOf(scale, span.fromMs);
  const look = {
    waiting: "top-1.5 h-1 bg-wait opacity-70",
    launching: "inset-y-0 border border-run bg-run-soft",
    running: `inset-y-0 ${fill}`,
  }[span.kind];
  return (
    <span
      className={`absolute min-w-0.5 ${look}`}
      style={{ left: `${left}%`, width: `${shareOf(scale, span.toMs) - left}%` }}
    />
  );
}

function Facts({
  line,
  gang,
  checkpointCount,
}: {
  readonly line: AttemptLine;
  readonly gang: Workload["gang"];
  readonly checkpointCount: number;
}): ReactElement {
  const { attempt, spans } = line;
  const running = spans.find(({ kind }) => kind === "running");
  const waiting = spans.find(({ kind }) => kind === "waiting");
  const nodes = [...new Set(attempt.workers.map(({ node }) => node))];
  const parts = [
    waiting === undefined ? "" : `waited ${spanText(waiting.toMs - waiting.fromMs)}`,
    running === undefined ? "" : `ran ${spanText(running.toMs - running.fromMs)}`,
    checkpointCount === 0 ? "" : plural(checkpointCount, "checkpoint"),
    gangSizeText(attempt, gang),
    attempt.phase !== "ended" && attempt.staging !== undefined ? stagingText(attempt.staging) : "",
    attempt.phase === "ended" && attempt.exit !== null ? exitSentence(attempt.exit) : "",
    attempt.phase === "ended" ? attempt.detail : "",
  ].filter((part) => part !== "");
  return (
    <>
      placed <Moment atMs={attempt.placedAtMs} />
      {parts.map((part) => `, ${part}`).join("")}
      {nodes.length === 0 ? null : ", on "}
      <Nodes names={nodes} />
    </>
  );
}

const NODES_NAMED = 4;

function Nodes({ names }: { readonly names: readonly string[] }): ReactElement {
  return (
    <>
      {names.slice(0, NODES_NAMED).map((name, index) => (
        <span key={name}>
          {index === 0 ? "" : ", "}
          <Link
            to="/"
            search={{ node: name }}
            className="underline decoration-line-strong underline-offset-2 hover:text-ink"
          >
            {name}
          </Link>
        </span>
      ))}
      {names.length > NODES_NAMED ? ` and ${names.length - NODES_NAMED} more` : null}
    </>
  );
}

function Axis({ scale }: { readonly scale: Scale }): ReactElement {
  const middleMs = Math.floor((scale.fromMs + scale.toMs) / 2);
  return (
    <p aria-hidden="true" className="flex justify-between border-t border-line px-4 py-1.5 text-2xs text-ink-3">
      {[scale.fromMs, middleMs, scale.toMs].map((atMs, index) => (
        <span key={index}>
          <Moment atMs={atMs} />
        </span>
      ))}
    </p>
  );
}
