/** The operator's instructions about an incident or a finding. */
import type { Incident } from "@headroom/protocol";
import type { ReactElement } from "react";

export function RunbookLines({ runbooks = [] }: Pick<Incident, "runbooks">): ReactElement {
  return (
    <>
      {runbooks.map(({ for: key, text, url }) => (
        <p key={`${key} ${text ?? ""} ${url ?? ""}`} className="break-words text-ink-2">
          Runbook for {key}: {text}{" "}
          {url === null ? null : (
            <a href={url} className="underline" rel="noreferrer">
              {url}
            </a>
          )}
        </p>
      ))}
    </>
  );
}
