import type { Attempt, Workload } from "@headroom/protocol";
import { grouped } from "@headroom/views";
import { useDeferredValue, useMemo, useState } from "react";
import type { KeyboardEvent, ReactElement } from "react";
import { useClient } from "../../../connect/session.ts";
import { download } from "../../../format/download.ts";
import { useAnnouncer } from "../../../parts/announcer.tsx";
import { plainLines } from "./ansi.ts";
import { Button, IconButton } from "../../../parts/button.tsx";
import { SearchInput, Select } from "../../../parts/controls.tsx";
import { Panel } from "../../../parts/page.tsx";
import { searchLines } from "./log-buffer.ts";
import { LogView } from "./log-view.tsx";
import { useLogs, type LogState } from "./use-logs.ts";

/** Maximum number of workers in the selector. The command line can show others. */
const WORKERS_OFFERED_MAX = 256;

export function LogsPanel({ workload }: { readonly workload: Workload }): ReactElement {
  const [attempt, setAttempt] = useState("");
  const [worker, setWorker] = useState("");
  const live = useLogs(workload.id, {
    attempt: attempt === "" ? undefined : attempt,
    worker: worker === "" ? undefined : Number(worker),
  });
  const [frozen, setFrozen] = useState<LogState | null>(null);
  const shown = frozen ?? live;
  const [isFollowing, setIsFollowing] = useState(true);
  const search = useSearchIn(shown);
  const saveLog = useLogDownload(workload, { attempt, worker });
  const { workers } = workload.gang;
  return (
    <Panel title="Logs" aside={<LogStatus live={live} isPaused={frozen !== null} newCount={newLines(live, frozen)} />}>
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
        <SearchInput
          label="Search in these lines"
          className="w-full sm:w-64"
          onValue={search.setText}
          onKeyDown={search.onKeyDown}
        />
        <SearchPosition search={search} />
        <span className="flex-1" />
        {workers < 2 ? null : (
          <Select label="Worker" value={worker} options={workerOptions(workers)} onValue={setWorker} />
        )}
        {workload.attempts.length < 2 ? null : (
          <Select label="Attempt" value={attempt} options={attemptOptions(workload)} onValue={setAttempt} />
        )}
        <Button icon={frozen === null ? "pause" : "play"} onClick={() => setFrozen(frozen === null ? live : null)}>
          {frozen === null ? "Pause" : "Continue"}
        </Button>
        <Button onClick={() => void saveLog()}>Download</Button>
        <Button icon="down" aria-pressed={isFollowing} onClick={() => setIsFollowing(true)} disabled={isFollowing}>
          Follow
        </Button>
      </div>
      {shown.lines.length === 0 ? (
        <p className="grid h-40 place-items-center bg-sunken px-4 text-center text-ink-2">
          {emptyText(workload, live)}
        </p>
      ) : (
        <LogView
          lines={shown.lines}
          longestChars={shown.longestChars}
          showsWorkers={workers > 1 && worker === ""}
          search={search.text}
          foundIndex={search.foundIndex}
          isFollowing={isFollowing && frozen === null}
          onFollow={setIsFollowing}
        />
      )}
    </Panel>
  );
}

/** The whole log of the chosen attempt and worker as a file, without escape sequences. */
function useLogDownload(
  workload: Workload,
  chosen: { readonly attempt: string; readonly worker: string },
): () => Promise<void> {
  const client = useClient();
  const announcer = useAnnouncer();
  return async () => {
    const attempt = chosen.attempt === "" ? undefined : chosen.attempt;
    const worker = chosen.worker === "" ? undefined : Number(chosen.worker);
    const parts: string[] = [];
    try {
      for await (const { text } of client.logs(workload.id, { attempt, worker })) parts.push(text);
      download(`${workload.name}.log`, `${plainLines(parts.join("")).join("\n")}\n`);
    } catch (error) {
      announcer.fail(error);
    }
  };
}

const workerOptions = (workers: number): { value: string; label: string }[] => [
  { value: "", label: "All workers" },
  ...Array.from({ length: Math.min(workers, WORKERS_OFFERED_MAX) }, (_, rank) => ({
    value: String(rank),
    label: `Worker ${rank}`,
  })),
];

const attemptName = ({ task, number }: Attempt, hasTasks: boolean): string =>
  hasTasks ? `Task ${task}, attempt ${number}` : `Attempt ${number}`;

const attemptOptions = ({ attempts, kind }: Workload): { value: string; label: string }[] => [
  { value: "", label: "Newest attempt" },
  ...attempts.toReversed().map((each) => ({ value: each.id, label: attemptName(each, kind !== "train") })),
];

const newLines = (live: LogState, frozen: LogState | null): number =>
  frozen === null ? 0 : (live.lines.at(-1)?.number ?? 0) - (frozen.lines.at(-1)?.number ?? 0);

function emptyText(workload: Workload, live: LogState): string {
  if (live.phase === "interrupted") return live.detail;
  if (workload.attempts.length === 0) return "Not placed yet, so there is no output.";
  return live.phase === "ended" ? "No output." : "No output so far.";
}

interface LogStatusProps {
  readonly live: LogState;
  readonly isPaused: boolean;
  readonly newCount: number;
}

function LogStatus({ live, isPaused, newCount }: LogStatusProps): ReactElement {
  const words = { connecting: "Connecting", following: "Live", ended: "Complete", interrupted: "Interrupted" } as const;
  const dropped = live.droppedCount === 0 ? "" : `, the oldest ${grouped(live.droppedCount)} dropped`;
  return (
    <p className="text-xs text-ink-2">
      <span role="status">{isPaused ? `Paused, ${grouped(newCount)} new` : words[live.phase]}</span>
      <span className="text-ink-3">
        , {grouped(live.lines.length)} lines{dropped}
      </span>
    </p>
  );
}

interface LogSearch {
  readonly text: string;
  readonly matches: readonly number[];
  /** Index of the current match; `null`: there is none yet. */
  readonly position: number | null;
  readonly foundIndex: number | null;
  readonly setText: (text: string) => void;
  readonly step: (by: number) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

function useSearchIn({ lines }: LogState): LogSearch {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<number | null>(null);
  const wanted = useDeferredValue(text);
  const matches = useMemo(() => searchLines(lines, wanted), [lines, wanted]);
  const position = Math.min(chosen ?? 0, matches.length - 1);
  const step = (by: number): void => {
    if (matches.length === 0) return;
    setChosen(chosen === null ? (by < 0 ? matches.length - 1 : 0) : (position + by + matches.length) % matches.length);
  };
  return {
    text: wanted,
    matches,
    position: chosen === null ? null : position,
    foundIndex: chosen === null || wanted === "" ? null : (matches[position] ?? null),
    setText: (next) => {
      setText(next);
      setChosen(null);
    },
    step,
    onKeyDown: (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      step(event.shiftKey ? 1 : -1);
    },
  };
}

const matchCountText = (count: number): string =>
  count === 0 ? "No match" : `${grouped(count)} match${count === 1 ? "" : "es"}`;

/** The search starts at the newest match, because the most relevant lines are usually near the end. */
function SearchPosition({ search }: { readonly search: LogSearch }): ReactElement | null {
  if (search.text === "") return null;
  const { matches, position, step } = search;
  return (
    <span className="flex items-center gap-1 text-ink-2">
      <span role="status" className="px-1">
        {position === null || matches.length === 0
          ? matchCountText(matches.length)
          : `${grouped(position + 1)} of ${grouped(matches.length)}`}
      </span>
      <IconButton icon="up" label="Match before" disabled={matches.length === 0} onClick={() => step(-1)} />
      <IconButton icon="down" label="Next match" disabled={matches.length === 0} onClick={() => step(1)} />
    </span>
  );
}
