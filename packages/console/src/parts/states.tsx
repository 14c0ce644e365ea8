/** Placeholders for content that is loading, empty or failed. */
import { useSyncExternalStore } from "react";
import type { ReactElement, ReactNode } from "react";
import { useSession } from "../connect/session.ts";
import { problemText } from "../format/problem-text.ts";
import { Button } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";

interface EmptyProps {
  readonly icon: IconName;
  readonly title: string;
  /** A hint about what the user can do next. */
  readonly children?: ReactNode;
}

export function Empty({ icon, title, children }: EmptyProps): ReactElement {
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-14 text-center text-ink-2">
      <span className="mb-1 text-ink-3">
        <Icon name={icon} size={24} />
      </span>
      <p className="text-base font-medium text-ink">{title}</p>
      {children === undefined ? null : <div className="max-w-[46ch]">{children}</div>}
    </div>
  );
}

export function Failure({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }): ReactElement {
  const { title, detail } = problemText(error);
  return (
    <div role="alert" className="flex flex-col items-center gap-2 px-6 py-14 text-center">
      <span className="mb-1 text-bad">
        <Icon name="warning" size={24} />
      </span>
      <p className="text-base font-medium">{title}</p>
      <p className="max-w-[60ch] text-ink-2">{detail}</p>
      {onRetry === undefined ? null : (
        <Button className="mt-2" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

export function Loading({ label, rows = 8 }: { readonly label: string; readonly rows?: number }): ReactElement {
  return (
    <div role="status" aria-label={label} className="flex flex-col gap-2.5 p-4">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className={`skeleton h-5 ${["w-full", "w-11/12", "w-10/12"][row % 3]}`} />
      ))}
    </div>
  );
}

/**
 * Shown beside data that may be outdated. If there is no connection, the banner above the page says so for the whole
 * page.
 */
export function StaleNotice({ error }: { readonly error: unknown }): ReactElement | null {
  const { feed } = useSession();
  const { phase } = useSyncExternalStore(feed.subscribeState, () => feed.state);
  if (phase === "interrupted") return null;
  return (
    <p
      role="status"
      className="flex items-center gap-2 border-b border-line bg-wait-soft px-4 py-1.5 text-xs text-wait"
    >
      <Icon name="warning" size={14} />
      This data may be outdated: {problemText(error).detail}
    </p>
  );
}
