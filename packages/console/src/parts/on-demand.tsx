/** Loads an overlay when it is opened for the first time, because most visits never open it. */
import { Suspense, useState } from "react";
import type { ReactElement, ReactNode } from "react";

interface OnDemandProps {
  readonly isWanted: boolean;
  /** Children that are lazy components. */
  readonly children: ReactNode;
}

/** The overlay stays mounted after it was opened, so that it can animate and open again at once. */
export function OnDemand({ isWanted, children }: OnDemandProps): ReactElement | null {
  const [wasWanted, setWasWanted] = useState(isWanted);
  if (isWanted && !wasWanted) setWasWanted(true);
  return isWanted || wasWanted ? <Suspense fallback={null}>{children}</Suspense> : null;
}
