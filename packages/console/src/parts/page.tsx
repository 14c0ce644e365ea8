/** The frame of every page: one heading, a one-line description, actions on the right. */
import type { ReactElement, ReactNode } from "react";

interface PageProps {
  readonly title: ReactNode;
  readonly summary?: ReactNode;
  readonly actions?: ReactNode;
  /** Filters between heading and content. */
  readonly toolbar?: ReactNode;
  /** `fill`: the content scrolls within the window, which suits long tables. `flow`: the whole page scrolls. */
  readonly layout: "fill" | "flow";
  readonly children: ReactNode;
}

export function Page({ title, summary, actions, toolbar, layout, children }: PageProps): ReactElement {
  const isFill = layout === "fill";
  return (
    <div className={isFill ? "flex h-full min-h-0 flex-col" : "scroll-thin relative h-full overflow-y-auto"}>
      <header className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2 px-4 pt-4 pb-3 md:px-6">
        <div className="min-w-48 flex-1">
          <h1 tabIndex={-1} className="truncate text-xl font-semibold tracking-tight focus:outline-none">
            {title}
          </h1>
          {summary === undefined ? null : <div className="mt-0.5 text-ink-2">{summary}</div>}
        </div>
        {actions === undefined ? null : <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      {toolbar === undefined ? null : (
        <div className="flex flex-wrap items-center gap-2 px-4 pb-3 md:px-6">{toolbar}</div>
      )}
      {isFill ? <div className="min-h-0 flex-1">{children}</div> : children}
    </div>
  );
}

interface PanelProps {
  readonly title: string;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
  readonly className?: string;
}

export function Panel({ title, aside, children, className = "" }: PanelProps): ReactElement {
  return (
    <section aria-label={title} className={`rounded-lg border border-line bg-surface ${className}`}>
      <header className="flex min-h-10 flex-wrap items-center justify-between gap-x-3 gap-y-1 border-b border-line px-4 py-1.5">
        <h2 className="text-sm font-semibold">{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}
