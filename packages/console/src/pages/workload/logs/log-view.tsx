/** The visible log lines, all of one height. Users can search them and follow the end. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import type { ReactElement } from "react";
import { markMatches, parseAnsi, type MarkedSpan } from "./ansi.ts";
import type { LogLine } from "./log-buffer.ts";

interface LogViewProps {
  readonly lines: readonly LogLine[];
  readonly longestChars: number;
  readonly showsWorkers: boolean;
  readonly search: string;
  /** The line of the current match. */
  readonly foundIndex: number | null;
  readonly isFollowing: boolean;
  readonly onFollow: (isFollowing: boolean) => void;
}

const LINE_PX = 19;
/** Distance to the end, in pixels, up to which the view follows new lines. */
const END_PX = 30;

export function LogView(props: LogViewProps): ReactElement {
  const { lines, longestChars, showsWorkers, search, foundIndex, isFollowing, onFollow } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_PX,
    overscan: 30,
    getItemKey: (index) => lines[index]?.number ?? index,
  });
  useEffect(() => {
    if (isFollowing && lines.length > 0) scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  }, [isFollowing, lines]);
  useEffect(() => {
    if (foundIndex !== null) virtualizer.scrollToIndex(foundIndex, { align: "center" });
  }, [foundIndex, virtualizer]);
  const onScroll = (): void => {
    const element = scroller.current;
    if (element === null) return;
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < END_PX;
    if (isAtEnd !== isFollowing) onFollow(isAtEnd);
  };
  return (
    <div
      ref={scroller}
      role="region"
      aria-label="Log lines"
      tabIndex={0}
      onScroll={onScroll}
      className="scroll-thin h-[26rem] overflow-auto bg-sunken py-2 font-mono text-xs"
    >
      <div className="relative" style={{ height: virtualizer.getTotalSize(), minWidth: `${longestChars + 12}ch` }}>
        {virtualizer.getVirtualItems().map(({ index, start, key }) => (
          <Line
            key={key}
            line={lines[index]}
            top={start}
            showsWorker={showsWorkers}
            search={search}
            isFound={index === foundIndex}
          />
        ))}
      </div>
    </div>
  );
}

interface LineProps {
  readonly line: LogLine | undefined;
  readonly top: number;
  readonly showsWorker: boolean;
  readonly search: string;
  readonly isFound: boolean;
}

function Line({ line, top, showsWorker, search, isFound }: LineProps): ReactElement | null {
  if (line === undefined) return null;
  const edge = line.stream === "stderr" ? "border-wait" : "border-transparent";
  return (
    <div
      data-log-line={line.number}
      className={`absolute inset-x-0 flex border-l-2 pr-4 pl-3 leading-[19px] whitespace-pre hover:bg-hover ${edge} ${isFound ? "bg-accent-soft" : ""}`}
      style={{ height: LINE_PX, transform: `translateY(${top}px)` }}
    >
      {showsWorker ? <span className="w-10 shrink-0 text-ink-3 select-none">{line.worker}</span> : null}
      {line.stream === "stderr" ? <span className="sr-only">stderr: </span> : null}
      <span>
        {markMatches(parseAnsi(line.raw), search).map((span, index) => (
          <Span key={index} span={span} />
        ))}
      </span>
    </div>
  );
}

/**
 * Colours for SGR 30 to 37: black, red, green, yellow, blue, magenta, cyan, white, each in a shade that is readable on
 * this background.
 */
const colours = [
  "text-ink-3",
  "text-bad",
  "text-good",
  "text-wait",
  "text-run",
  "text-stop",
  "text-accent",
  "text-ink",
];

function Span({ span }: { readonly span: MarkedSpan }): ReactElement {
  const colour = span.colour === null ? "" : (colours[span.colour] ?? "");
  const className = `${colour} ${span.isBold ? "font-bold" : ""} ${span.isDim ? "text-ink-3" : ""}`;
  if (span.isMatch) return <mark className={`${className} bg-wait-soft text-wait underline`}>{span.text}</mark>;
  return <span className={className}>{span.text}</span>;
}
