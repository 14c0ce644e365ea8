/** Layout of every sizing panel: controls on the left, the answer on the right, or a message if there is no answer. */
import type { ReactElement, ReactNode } from "react";
import { Icon } from "../../parts/icon.tsx";

interface FrameProps {
  readonly controls: ReactNode;
  /** Whether the visible answer belongs to an earlier question. */
  readonly isBusy?: boolean;
  readonly children: ReactNode;
}

export function AnswerFrame({ controls, isBusy = false, children }: FrameProps): ReactElement {
  return (
    <div className="grid gap-4 px-4 pb-6 md:px-6 lg:grid-cols-[20rem_1fr]">
      <form
        className="flex flex-col gap-3 self-start rounded-lg border border-line bg-surface p-4"
        onSubmit={(event) => event.preventDefault()}
      >
        {controls}
      </form>
      <div className="flex min-w-0 flex-col gap-4" aria-live="polite" aria-busy={isBusy}>
        {children}
      </div>
    </div>
  );
}

export function Notice({ title, text }: { readonly title: string; readonly text: string }): ReactElement {
  return (
    <div className="flex gap-3 rounded-lg border border-line bg-surface p-4">
      <span className="text-wait">
        <Icon name="warning" />
      </span>
      <div>
        <p className="font-semibold">{title}</p>
        <p className="mt-1 text-ink-2">{text}</p>
      </div>
    </div>
  );
}
