/** Shows whether the page is connected, and the journal's sequence. */
import { grouped } from "@headroom/views";
import { useSyncExternalStore } from "react";
import type { ReactElement } from "react";
import { useSession } from "../connect/session.ts";
import type { FeedPhase } from "../live/event-feed.ts";

const words: Readonly<Record<FeedPhase, { readonly text: string; readonly dot: string }>> = {
  connecting: { text: "Connecting", dot: "bg-wait" },
  live: { text: "Live", dot: "bg-good" },
  interrupted: { text: "Reconnecting", dot: "bg-bad" },
};

export function Connection({ isCompact = false }: { readonly isCompact?: boolean }): ReactElement {
  const { feed, demo } = useSession();
  const { phase, lastSequence, detail } = useSyncExternalStore(feed.subscribeState, () => feed.state);
  const { text, dot } = words[phase];
  const word = demo !== null && phase === "live" ? "Simulated" : text;
  return (
    <div className="flex items-center gap-2 px-2 text-xs text-ink-2" title={detail ?? undefined}>
      <span aria-hidden="true" className={`size-2 rounded-full ${dot}`} />
      {/* Screen readers announce only the state; the number beside it changes constantly. */}
      <span role="status">{word}</span>
      {isCompact ? null : <span className="ml-auto text-ink-3">#{grouped(lastSequence)}</span>}
    </div>
  );
}
