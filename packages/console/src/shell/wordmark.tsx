import type { ReactElement } from "react";

export function Wordmark(): ReactElement {
  return (
    <span className="flex items-center gap-2 text-base font-semibold tracking-tight">
      <svg width="20" height="20" viewBox="0 0 32 32" aria-hidden="true" className="text-accent">
        <path d="M6 5v22M26 5v22M6 19h20" stroke="currentColor" strokeWidth="4" fill="none" />
        <path d="M12 9.5h8" stroke="currentColor" strokeWidth="3" fill="none" />
      </svg>
      Headroom
    </span>
  );
}
