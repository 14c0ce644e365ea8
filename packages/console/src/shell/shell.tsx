/** The frame around every page: navigation, connection state, overlays. */
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { lazy, useEffect, useRef, useState } from "react";
import type { ReactElement } from "react";
import { useSession } from "../connect/session.ts";
import { Icon } from "../parts/icon.tsx";
import { OnDemand } from "../parts/on-demand.tsx";
import { DemoBar } from "./demo-bar.tsx";
import { allPlaces } from "./nav.ts";
import { isApple, useShortcuts } from "./shortcuts.ts";
import { Connection } from "./connection.tsx";
import { ConnectionBanner } from "./connection-banner.tsx";
import { PausedBanner } from "./paused-banner.tsx";
import { PhoneNav } from "./phone-nav.tsx";
import { ThemeSwitch } from "./theme-switch.tsx";
import { Wordmark } from "./wordmark.tsx";
import { usePlaceCounts, usePlaces, type PlaceCounts } from "./place-counts.ts";

const Palette = lazy(() => import("./palette.tsx").then((module) => ({ default: module.Palette })));
const Help = lazy(() => import("./help.tsx").then((module) => ({ default: module.Help })));

export function Shell(): ReactElement {
  const [above, setAbove] = useState<"palette" | "help" | null>(null);
  const close = (): void => setAbove(null);
  const { demo } = useSession();
  const counts = usePlaceCounts();
  const main = usePageFocus();
  useShortcuts({ openPalette: () => setAbove("palette"), openHelp: () => setAbove("help") });
  return (
    <div className="flex h-dvh flex-col md:flex-row">
      <a
        href="#main"
        className="absolute top-2 left-2 z-60 -translate-y-20 rounded-md bg-accent px-3 py-1.5 font-medium text-on-accent focus:translate-y-0"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to content
      </a>
      <Sidebar counts={counts} onPalette={() => setAbove("palette")} onHelp={() => setAbove("help")} />
      <PhoneHeader onPalette={() => setAbove("palette")} />
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        {demo === null ? null : <DemoBar demo={demo} />}
        <ConnectionBanner />
        <PausedBanner />
        <main ref={main} id="main" tabIndex={-1} className="min-h-0 flex-1 focus:outline-none">
          <Outlet />
        </main>
      </div>
      <PhoneNav counts={counts} />
      <OnDemand isWanted={above === "palette"}>
        <Palette isOpen={above === "palette"} onClose={close} onHelp={() => setAbove("help")} />
      </OnDemand>
      <OnDemand isWanted={above === "help"}>
        <Help isOpen={above === "help"} onClose={close} />
      </OnDemand>
    </div>
  );
}

/** After a navigation, the focus moves to the start of the page and the window gets the page's title. */
function usePageFocus(): { readonly current: HTMLElement | null } {
  const main = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  const isFirst = useRef(true);
  useEffect(() => {
    if (path === undefined) return;
    const place = allPlaces.find(({ to }) => to === path || (to !== "/" && path.startsWith(`${to}/`)));
    document.title = place === undefined ? "Headroom" : `${place.label} · Headroom`;
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [path]);
  return main;
}

interface SidebarProps {
  readonly counts: PlaceCounts;
  readonly onPalette: () => void;
  readonly onHelp: () => void;
}

function Sidebar({ counts, onPalette, onHelp }: SidebarProps): ReactElement {
  const places = usePlaces();
  return (
    <header className="hidden w-52 shrink-0 flex-col border-r border-line bg-sunken px-3 py-3 md:flex">
      <div className="px-2 py-1">
        <Wordmark />
      </div>
      <button
        type="button"
        onClick={onPalette}
        title="Search or run a command"
        className="mt-3 mb-3 flex items-center gap-2 rounded-md border border-line-strong bg-surface px-2 py-1 text-ink-2 hover:bg-hover"
      >
        <Icon name="search" size={14} />
        <span className="flex-1 text-left">Search</span>
        <kbd className="font-mono text-2xs text-ink-3">{isApple() ? "⌘K" : "Ctrl K"}</kbd>
      </button>
      <nav aria-label="Main" className="flex flex-col gap-0.5">
        {places.map(({ to, label, icon }) => (
          <Link
            key={to}
            to={to}
            activeOptions={{ exact: to === "/", includeSearch: false }}
            className="flex items-center gap-2.5 rounded-md px-2 py-1.5 font-medium text-ink-2 hover:bg-hover hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:text-ink"
          >
            <Icon name={icon} />
            <span className="flex-1">{label}</span>
            <Count count={counts[to]} />
          </Link>
        ))}
      </nav>
      <div className="mt-auto flex flex-col gap-2">
        <Connection />
        <div className="flex items-center justify-between">
          <ThemeSwitch />
          <button
            type="button"
            onClick={onHelp}
            title="Keyboard shortcuts"
            aria-label="Keyboard shortcuts"
            className="rounded-md p-2 text-ink-2 hover:bg-hover hover:text-ink"
          >
            <Icon name="keyboard" />
          </button>
        </div>
      </div>
    </header>
  );
}

function Count({ count }: { readonly count: PlaceCounts[keyof PlaceCounts] }): ReactElement | null {
  if (count === undefined) return null;
  return (
    <span className="text-xs text-ink-3" aria-label={count.label}>
      {count.text}
    </span>
  );
}

function PhoneHeader({ onPalette }: { readonly onPalette: () => void }): ReactElement {
  return (
    <header className="flex items-center justify-between border-b border-line bg-sunken px-4 py-2 md:hidden">
      <Wordmark />
      <div className="flex items-center gap-1">
        <Connection isCompact />
        <ThemeSwitch />
        <button
          type="button"
          onClick={onPalette}
          aria-label="Search or run a command"
          className="rounded-md p-2.5 text-ink-2 hover:bg-hover"
        >
          <Icon name="search" />
        </button>
      </div>
    </header>
  );
}
