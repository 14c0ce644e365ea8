import type { ReactElement, ReactNode } from "react";
import { Wordmark } from "./wordmark.tsx";

/** A card on an otherwise empty page. */
export function EntryCard({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactElement {
  return (
    <main className="grid min-h-dvh place-items-center p-4">
      <div className="w-full max-w-md rounded-lg border border-line bg-surface p-6">
        <Wordmark />
        <h1 className="mt-5 text-xl font-semibold tracking-tight">{title}</h1>
        <div className="mt-2 flex flex-col gap-3 text-base text-ink-2">{children}</div>
      </div>
    </main>
  );
}
