import type { ReactElement, ReactNode } from "react";

export interface Fact {
  readonly name: string;
  readonly value: ReactNode;
}

/** A list of names and values, one pair on each line. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }): ReactElement {
  return (
    <dl className="grid grid-cols-[minmax(6.5rem,auto)_1fr] gap-x-4 gap-y-1.5 px-4 py-3">
      {facts.map(({ name, value }) => (
        <div key={name} className="contents">
          <dt className="text-ink-3">{name}</dt>
          <dd className="min-w-0 break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
