/** Navigation at the lower edge of a narrow window: the pages of every day, and the others on request. */
import { Link, useRouterState } from "@tanstack/react-router";
import { useState } from "react";
import type { ReactElement } from "react";
import { Icon } from "../parts/icon.tsx";
import type { Place } from "./nav.ts";
import { usePlaces, type PlaceCounts } from "./place-counts.ts";

/** Pages that are always shown: those at the start of the list. */
const SHOWN = 4;

export function PhoneNav({ counts }: { readonly counts: PlaceCounts }): ReactElement {
  const places = usePlaces();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  /** The page on which the others were asked for: another page closes them. */
  const [askedOn, setAskedOn] = useState<string | null>(null);
  const isOpen = askedOn === path;
  const others = places.slice(SHOWN);
  const isOnOther = others.some(({ to }) => path === to || path.startsWith(`${to}/`));
  return (
    <nav aria-label="Main" className="border-t border-line bg-sunken pb-[env(safe-area-inset-bottom)] md:hidden">
      {isOpen ? (
        <div
          id="other-places"
          className="scroll-thin grid max-h-[50dvh] grid-cols-5 overflow-y-auto border-b border-line"
        >
          {others.map((place) => (
            <PlaceLink key={place.to} place={place} counts={counts} />
          ))}
        </div>
      ) : null}
      <div className="grid grid-cols-5">
        {places.slice(0, SHOWN).map((place) => (
          <PlaceLink key={place.to} place={place} counts={counts} />
        ))}
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls="other-places"
          onClick={() => setAskedOn(isOpen ? null : path)}
          className={`${cell} ${isOnOther ? "text-accent" : "text-ink-2"}`}
        >
          <Icon name={isOpen ? "down" : "up"} size={18} />
          {isOpen ? "Less" : "More"}
        </button>
      </div>
    </nav>
  );
}

const cell = "relative flex flex-col items-center gap-0.5 py-2 text-center text-2xs font-medium tracking-tight";

interface PlaceLinkProps {
  readonly place: Place;
  readonly counts: PlaceCounts;
}

function PlaceLink({ place: { to, label, icon }, counts }: PlaceLinkProps): ReactElement {
  return (
    <Link
      to={to}
      activeOptions={{ exact: to === "/", includeSearch: false }}
      className={`${cell} text-ink-2 aria-[current=page]:text-accent`}
    >
      <Icon name={icon} size={18} />
      {label}
      {counts[to] === undefined ? null : <span className="sr-only">, {counts[to].label}</span>}
    </Link>
  );
}
