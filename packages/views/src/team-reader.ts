/** Answers and events as readers of the same teams see them. */
import type { ReadonlyState } from "@headroom/engine";
import type { Event } from "@headroom/model";
import { hiddenNames, withoutHidden, type Reading } from "./hidden-names.ts";
import type { NamedState, ReadableTeams } from "./readable-teams.ts";
import { readersEvent } from "./readers-event.ts";

/** Words whose answer is kept. */
const WORDS_KEPT_MAX = 10_000;

/**
 * Answers and events for readers of the same teams. Finding hidden names reads every workload, so words are looked up once
 * for each state: a reader of a long journal, or of many answers, must not hold up the control plane.
 */
export class TeamReader {
  readonly #readableTeams: (state: ReadonlyState) => ReadableTeams;
  readonly #known = new Map<string, boolean>();
  #readable: ReadableTeams = null;
  #sequence = -1;

  constructor(readableTeams: (state: ReadonlyState) => ReadableTeams) {
    this.#readableTeams = readableTeams;
  }

  /** The answer without names of other teams' work, but for the words of `given`, which the reader wrote. */
  answer<Answer>(state: ReadonlyState, answer: Answer, given?: unknown): Answer {
    const reading = this.#reading(state);
    return reading === null ? answer : withoutHidden(reading, answer, given);
  }

  /** The event as the reader may see it; `null`: it is about other teams. */
  event(state: ReadonlyState, event: Event): Event | null {
    const reading = this.#reading(state);
    if (reading === null) return event;
    const shown = readersEvent(reading.state, reading.readable, event);
    return shown === null ? null : withoutHidden(reading, shown);
  }

  #reading(state: ReadonlyState): Reading | null {
    if (state.sequence !== this.#sequence) {
      this.#sequence = state.sequence;
      this.#readable = this.#readableTeams(state);
      this.#known.clear();
    }
    const readable = this.#readable;
    if (readable === null) return null;
    return { state, readable, hiddenAmong: (words) => this.#hiddenAmong(state, readable, words) };
  }

  #hiddenAmong(state: NamedState, readable: ReadonlySet<string>, words: ReadonlySet<string>): ReadonlySet<string> {
    if (this.#known.size > WORDS_KEPT_MAX) this.#known.clear();
    const fresh = new Set([...words].filter((word) => !this.#known.has(word)));
    if (fresh.size > 0) {
      const hidden = hiddenNames(state, readable, fresh);
      for (const word of fresh) this.#known.set(word, hidden.has(word));
    }
    return new Set([...words].filter((word) => this.#known.get(word) === true));
  }
}
