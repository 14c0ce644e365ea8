/**
 * The banner that appears when the connection is lost: it says that the page is outdated, since when, and when the
 * console reconnects.
 */
import { useSyncExternalStore } from "react";
import type { ReactElement } from "react";
import { useSession } from "../connect/session.ts";
import { clockTimeText } from "../format/moment.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";

export function ConnectionBanner(): ReactElement {
  const { feed, clock } = useSession();
  const { phase } = useSyncExternalStore(feed.subscribeState, () => feed.state);
  const isLost = phase === "interrupted";
  // The live region is always in the page: some screen readers do not announce a region that appears together with its
  // text.
  return (
    <div role="alert" aria-label="Connection">
      {isLost ? (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-bad bg-bad-soft px-4 py-2 text-bad md:px-6">
          <Icon name="warning" />
          <p className="min-w-0 flex-1">
            <strong className="font-semibold">Connection lost.</strong>{" "}
            <span className="text-ink">
              Everything shown is as of {clockTimeText(clock.nowMs())}. The console reconnects by itself.
            </span>
          </p>
          <Button onClick={() => feed.retryNow()}>Retry now</Button>
        </div>
      ) : null}
    </div>
  );
}
