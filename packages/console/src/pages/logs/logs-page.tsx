/** Searches the output of all attempts that the user may read. Each request is bounded; the user goes on for more. */
import type { LogMatch, LogMatchPage, LogSearchQuery } from "@headroom/protocol";
import { grouped, plural } from "@headroom/views";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { Button } from "../../parts/button.tsx";
import { SearchInput, Select } from "../../parts/controls.tsx";
import { Page } from "../../parts/page.tsx";
import { Empty, Failure } from "../../parts/states.tsx";
import { TeamFilter } from "../../parts/team-filter.tsx";
import { Moment } from "../../parts/time-text.tsx";
import type { LogsSearch } from "../../routes/search-params.ts";
import { logHours } from "../../routes/search-params.ts";
import { plainText } from "../workload/logs/ansi.ts";

const route = getRouteApi("/logs");
const HOUR_MS = 3_600_000;
const CONTEXT = 1;
/** Matches that the page shows; beyond them the user narrows the search. */
const SHOWN_MAX = 1_000;
const hourNames: Readonly<Record<(typeof logHours)[number], string>> = {
  "1": "Last hour",
  "24": "Last day",
  "168": "Last week",
  "720": "Last 30 days",
};

export function LogsPage(): ReactElement {
  const asked = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: Partial<LogsSearch>): void =>
    void navigate({ search: (now) => ({ ...now, ...next }), replace: true });
  const search = useLogSearch(asked);
  return (
    <Page
      title="Logs"
      layout="flow"
      summary="Search the output of all attempts, the newest first"
      toolbar={
        <form
          className="flex flex-wrap items-center gap-2"
          onSubmit={(event) => {
            event.preventDefault();
            search.begin();
          }}
        >
          <SearchInput
            label="Text of a line"
            className="w-full sm:w-72"
            maxLength={200}
            defaultValue={asked.search ?? ""}
            onValue={(value) => change({ search: value === "" ? undefined : value })}
          />
          <label className="flex items-center gap-2 text-ink-2">
            <input
              type="checkbox"
              className="accent-accent"
              checked={asked.regex === true}
              onChange={({ target }) => change({ regex: target.checked ? true : undefined })}
            />
            Regular expression
          </label>
          <TeamFilter team={asked.team} onTeam={(team) => change({ team })} />
          <Select
            label="Written"
            value={asked.hours ?? "24"}
            options={logHours.map((value) => ({ value, label: hourNames[value] }))}
            onValue={(value) => change({ hours: logHours.find((each) => each === value) })}
          />
          <Button type="submit" look="primary" icon="search" disabled={asked.search === undefined || search.isRunning}>
            Search
          </Button>
          {search.isRunning ? <Button onClick={search.end}>Stop</Button> : null}
        </form>
      }
    >
      <div className="max-w-6xl space-y-3 px-4 pb-6 md:px-6">
        <Progress search={search} />
        {search.error === null ? null : <Failure error={search.error} />}
        {search.items.length > 0 ? <Matches items={search.items} /> : <NoMatches search={search} />}
        {search.cursor === null || search.isRunning || search.items.length >= SHOWN_MAX ? null : (
          <Button onClick={search.goOn}>Search on</Button>
        )}
      </div>
    </Page>
  );
}

interface LogSearchState {
  readonly items: readonly LogMatch[];
  /** `null`: nothing was searched yet. */
  readonly newest: LogMatchPage | null;
  readonly cursor: string | null;
  readonly isRunning: boolean;
  readonly error: unknown;
  readonly begin: () => void;
  readonly goOn: () => void;
  readonly end: () => void;
}

/** Sends requests until one has matches, the search has ended or the user stops it. */
function useLogSearch({ search = "", regex, team, hours = "24" }: LogsSearch): LogSearchState {
  const client = useClient();
  const [items, setItems] = useState<readonly LogMatch[]>([]);
  const [newest, setNewest] = useState<LogMatchPage | null>(null);
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const stop = useRef<AbortController | null>(null);
  const query = useRef<LogSearchQuery | null>(null);
  const run = async (cursor: string | undefined): Promise<void> => {
    const asked = query.current;
    if (asked === null) return;
    const own = new AbortController();
    stop.current?.abort();
    stop.current = own;
    setRunning(true);
    setError(null);
    try {
      for (let next = cursor; !own.signal.aborted;) {
        const page = await client.searchLogs({ ...asked, cursor: next }, { signal: own.signal });
        if (own.signal.aborted) return;
        setNewest(page);
        setItems((known) => [...known, ...page.items].slice(0, SHOWN_MAX));
        if (page.nextCursor === null || page.items.length > 0) return;
        next = page.nextCursor;
      }
    } catch (failure) {
      if (!own.signal.aborted) setError(failure);
    } finally {
      if (stop.current === own) setRunning(false);
    }
  };
  useEffect(() => () => stop.current?.abort(), []);
  return {
    items,
    newest,
    isRunning,
    error,
    cursor: newest?.nextCursor ?? null,
    begin: () => {
      if (search === "") return;
      query.current = { text: search, regex, team, sinceMs: Date.now() - Number(hours) * HOUR_MS, context: CONTEXT };
      setItems([]);
      setNewest(null);
      void run(undefined);
    },
    goOn: () => void run(newest?.nextCursor ?? undefined),
    end: () => {
      stop.current?.abort();
      setRunning(false);
    },
  };
}

function Progress({ search: { newest, isRunning, items } }: { readonly search: LogSearchState }): ReactElement {
  if (newest === null) return <p role="status">{isRunning ? "Searching" : ""}</p>;
  const { attempts, notSearched, notSearchedCount } = newest;
  const done = `${grouped(attempts.done)} of ${plural(attempts.total, "attempt")} searched`;
  const matches = items.length === 1 ? "1 match" : `${grouped(items.length)} matches`;
  return (
    <div className="text-ink-2">
      <p role="status">{`${matches}; ${done}${isRunning ? ", searching" : ""}.`}</p>
      {notSearchedCount === 0 ? null : (
        <details>
          <summary>{`${plural(notSearchedCount, "attempt")} cannot be searched`}</summary>
          <ul>
            {notSearched.map(({ attemptId, name, reason }) => (
              <li key={attemptId}>{`${name}, attempt ${attemptId}: ${reason}`}</li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

function NoMatches({
  search: { newest, isRunning, cursor },
}: {
  readonly search: LogSearchState;
}): ReactElement | null {
  if (newest === null || isRunning || cursor !== null) return null;
  return <Empty icon="search" title="No line matches" />;
}

function Matches({ items }: { readonly items: readonly LogMatch[] }): ReactElement {
  return (
    <ol aria-label="Matches" className="space-y-2">
      {items.map((match, index) => (
        <li key={index} className="rounded-md border border-line bg-surface">
          <p className="flex flex-wrap gap-x-3 border-b border-line px-3 py-1 text-xs text-ink-2">
            <Link to="/workloads/$workloadId" params={{ workloadId: match.workloadId }} className="text-accent">
              {`${match.team}/${match.name}`}
            </Link>
            <span>{`task ${match.task}, attempt ${match.number}, worker ${match.worker}, ${match.stream}`}</span>
            {match.atMs === null ? null : <Moment atMs={match.atMs} />}
          </p>
          <pre className="overflow-x-auto px-3 py-1 font-mono text-xs" tabIndex={0}>
            <span className="text-ink-3">{match.before.map((line) => `${plainText(line)}\n`).join("")}</span>
            <mark className="bg-transparent font-semibold text-ink">{`${plainText(match.text)}\n`}</mark>
            <span className="text-ink-3">{match.after.map((line) => `${plainText(line)}\n`).join("")}</span>
          </pre>
        </li>
      ))}
    </ol>
  );
}
