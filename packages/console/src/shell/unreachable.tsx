import type { ReactElement } from "react";
import { demoAddress } from "../connect/connect.ts";
import { problemText } from "../format/problem-text.ts";
import { Button, buttonClass } from "../parts/button.tsx";
import { EntryCard } from "./entry-card.tsx";

/**
 * Shown when no control plane answers, for example when a plain file server serves these files. The demo still works
 * then.
 */
export function Unreachable({
  error,
  onRetry,
}: {
  readonly error: unknown;
  readonly onRetry: () => void;
}): ReactElement {
  const { title, detail } = problemText(error);
  return (
    <EntryCard title={title}>
      <p role="alert">{detail}</p>
      <p>Start the control plane, then try again:</p>
      <pre className="rounded-md bg-sunken px-3 py-2 font-mono text-sm text-ink">npm start</pre>
      <div className="flex gap-2">
        <Button look="primary" onClick={onRetry}>
          Try again
        </Button>
        <a href={demoAddress} className={buttonClass("plain")}>
          Open the demo
        </a>
      </div>
    </EntryCard>
  );
}
