/** Loads an overlay when it is first opened: most visits never open it. */
import { Suspense, useState } from "react";
import type { ReactElement, ReactNode } from "react";

interface OnDemandProps {
  readonly isWanted: boolean;
  /** Children made of lazy components. */
  readonly children: ReactNode;
}

/** The overlay stays mounted once it was opened, so that it can animate and reopen at once. */
export function OnDemand({ isWanted, children }: OnDemandProps): ReactElement | null {
  const [wasWanted, setWasWanted] = useState(isWanted);
  if (isWanted && !wasWanted) setWasWanted(true);
  return isWanted || wasWanted ? <Suspense fallback={null}>{children}</Suspense> : null;
}
