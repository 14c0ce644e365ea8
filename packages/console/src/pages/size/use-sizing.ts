/** Provides the answer to the newest question. Until it arrives, the previous answer stays visible. */
import type { SizingAnswer, SizingQuestion } from "@headroom/perf";
import { useEffect, useRef, useState } from "react";

interface Sizing {
  readonly answer: SizingAnswer | undefined;
  /** Whether the visible answer belongs to an earlier question. */
  readonly isBusy: boolean;
}

/** Answers one question at a time. If several arrive during an answer, only the newest of them is answered next. */
class Service {
  readonly #worker = new Worker(new URL("./sizing-worker.ts", import.meta.url), { type: "module" });
  #isBusy = false;
  #next: SizingQuestion | undefined;

  constructor(onAnswer: (answer: SizingAnswer, isLast: boolean) => void) {
    this.#worker.addEventListener("message", (event: MessageEvent<SizingAnswer>) => {
      this.#isBusy = false;
      const next = this.#next;
      this.#next = undefined;
      onAnswer(event.data, next === undefined);
      if (next !== undefined) this.ask(next);
    });
  }

  ask(question: SizingQuestion): void {
    if (this.#isBusy) {
      this.#next = question;
      return;
    }
    this.#isBusy = true;
    this.#worker.postMessage(question);
  }

  close(): void {
    this.#worker.terminate();
  }
}

export function useSizing(question: SizingQuestion): Sizing {
  const [sizing, setSizing] = useState<Sizing>({ answer: undefined, isBusy: true });
  const service = useRef<Service | null>(null);
  useEffect(() => {
    const opened = new Service((answer, isLast) => setSizing({ answer, isBusy: !isLast }));
    service.current = opened;
    return () => {
      service.current = null;
      opened.close();
    };
  }, []);
  useEffect(() => {
    setSizing(({ answer }) => ({ answer, isBusy: true }));
    service.current?.ask(question);
  }, [question]);
  return sizing;
}
