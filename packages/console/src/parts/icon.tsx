/** The console's icons on a 16-pixel grid with one line width. A text always states the same as the icon. */
import type { ReactElement } from "react";

const paths = {
  fleet: "M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z",
  queue: "M2.5 4h11M2.5 8h7.5M2.5 12h4.5",
  workloads: "M2.5 3.5h11v9h-11zM5 6.5l2 1.75L5 10M8.5 10h2.5",
  teams: "M8 2.5v3M3.5 10.5V8h9v2.5M8 5.5V8M2 10.5h3v3H2zM6.5 10.5h3v3h-3zM11 10.5h3v3h-3z",
  calendar: "M2.5 4h11v9.5h-11zM2.5 7h11M5.5 2.5V5M10.5 2.5V5M5.5 10h2",
  policy: "M2.5 4.5h6M11.5 4.5h2M2.5 11.5h2M7.5 11.5h6M10 3v3M6 10v3",
  whatIf: "M2.5 8h3.5M6 8c2.5 0 2-4 4.5-4h3M6 8c2.5 0 2 4 4.5 4h3M11.5 2l2 2-2 2M11.5 10l2 2-2 2",
  waste: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3.2l2.2 1.4",
  size: "M2.5 13.5V10M6.2 13.5v-6M9.8 13.5V9M13.5 13.5V2.5",
  cost: "M8 2v12M11 4.8C10.3 4 9.2 3.6 8 3.6c-1.8 0-3 .9-3 2.2 0 3 6 1.6 6 4.5 0 1.3-1.3 2.2-3 2.2-1.300 0-2.500-.4-3.200-1.300",
  access: "M5 6.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5zM6.8 7.2L13 2.5M10.5 4.5l2 2.5",
  offers: "M2.5 2.5h6l5 5-6 6-5-5zM5.2 5.2h.01",
  proposals: "M2.5 3h11v7.5H8l-3 3v-3H2.5zM5.5 6.8l1.8 1.8 3.4-3.4",
  artifacts: "M8 2.5l5.5 3v5L8 13.5l-5.5-3v-5zM2.5 5.5L8 8.5l5.5-3M8 8.5v5",
  pipelines: "M2.5 3h4v4h-4zM9.5 9h4v4h-4zM6.5 5H11.5V9",
  health: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5.5v5M5.5 8h5",
  plan: "M2.5 13.5h11M2.5 11l3.5-2 3 1 4.5-6M13.5 4v3M13.5 4h-3",
  gateway: "M2 8h4M10 4h4M10 8h4M10 12h4M6 8l4-4M6 8h4M6 8l4 4",
  events: "M2 8.5h2.5l2-5 3 9 2-4H14",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.4 10.4l3.1 3.1",
  plus: "M8 3v10M3 8h10",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  stop: "M4 4h8v8H4z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M5 3.2v9.6L12.5 8z",
  sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM8 1.5v1.4M8 13.1v1.4M1.5 8h1.4M13.1 8h1.4M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1",
  moon: "M12.9 9.6A5.3 5.3 0 0 1 6.4 3.1a5.3 5.3 0 1 0 6.5 6.5z",
  system: "M2.5 3.5h11v7h-11zM6 13h4M8 10.5V13",
  keyboard: "M1.5 4.5h13v7h-13zM4 7h.01M6.5 7h.01M9 7h.01M11.5 7h.01M5 9.2h6",
  chevron: "M6 3.5L10.5 8 6 12.5",
  up: "M8 13V3.5M4 7l4-4 4 4",
  down: "M8 3v9.5M4 9l4 4 4-4",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  warning: "M8 2.5l6 10.5H2zM8 6.5v3M8 11.3v.01",
  check: "M3 8.5l3.2 3.2L13 4.8",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }): ReactElement {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinejoin="round"
      strokeLinecap="round"
      aria-hidden="true"
      className="shrink-0"
    >
      <path d={paths[name]} />
    </svg>
  );
}
