/**
 * Notifications. They are shown for a while at the bottom, and screen readers announce them without interrupting.
 * Errors stay until the user closes them, because the user must act.
 */
import { createContext, useCallback, useContext, useMemo, useRef, useState } from "react";
import type { ReactElement, ReactNode } from "react";
import { problemText } from "../format/problem-text.ts";
import { IconButton } from "./button.tsx";
import { Icon } from "./icon.tsx";

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly isFailure: boolean;
}

interface Announcer {
  say(text: string): void;
  fail(error: unknown): void;
}

const SHOWN_MS = 6_000;
const NOTICES_MAX = 4;

const AnnouncerContext = createContext<Announcer | null>(null);

export function useAnnouncer(): Announcer {
  const announcer = useContext(AnnouncerContext);
  if (announcer === null) throw new Error("no announcer above this component");
  return announcer;
}

export function AnnouncerProvider({ children }: { readonly children: ReactNode }): ReactElement {
  const [notices, setNotices] = useState<readonly Notice[]>([]);
  const nextId = useRef(1);
  const close = useCallback((id: number) => setNotices((now) => now.filter((notice) => notice.id !== id)), []);
  const announcer = useMemo((): Announcer => {
    const add = (text: string, isFailure: boolean): void => {
      const id = nextId.current++;
      setNotices((now) => [...now, { id, text, isFailure }].slice(-NOTICES_MAX));
      if (!isFailure) setTimeout(() => close(id), SHOWN_MS);
    };
    return {
      say: (text) => add(text, false),
      fail: (error) => {
        const { title, detail } = problemText(error);
        add(detail === "" ? `${title}.` : detail, true);
      },
    };
  }, [close]);
  return (
    <AnnouncerContext value={announcer}>
      {children}
      <div
        role="status"
        aria-live="polite"
        className="pointer-events-none fixed inset-x-4 bottom-20 z-60 flex flex-col items-center gap-2 md:bottom-4"
      >
        {notices.map(({ id, text, isFailure }) => (
          <div
            key={id}
            className="pointer-events-auto flex max-w-xl items-center gap-2.5 rounded-lg bg-raised py-1 pr-1 pl-3 shadow-raised fade-in"
          >
            <span className={isFailure ? "text-bad" : "text-good"}>
              <Icon name={isFailure ? "warning" : "check"} size={14} />
            </span>
            <span>{text}</span>
            <IconButton icon="close" label="Dismiss" onClick={() => close(id)} />
          </div>
        ))}
      </div>
    </AnnouncerContext>
  );
}
