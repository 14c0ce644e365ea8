/** What lies above a page is loaded when somebody first asks for it: most visits never open it. */
import { Suspense, useState } from "react";
import type { ReactElement, ReactNode } from "react";

interface OnDemandProps {
  readonly isWanted: boolean;
  /** Made of lazy components. */
  readonly children: ReactNode;
}

/** Once wanted it stays, so that it can close with grace and open again at once. */
export function OnDemand({ isWanted, children }: OnDemandProps): ReactElement | null {
  const [wasWanted, setWasWanted] = useState(isWanted);
  if (isWanted && !wasWanted) setWasWanted(true);
  return isWanted || wasWanted ? <Suspense fallback={null}>{children}</Suspense> : null;
}
