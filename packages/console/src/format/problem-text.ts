/** Messages for refused commands and for failures. */
import { ProblemError } from "@headroom/protocol";

export interface ProblemText {
  readonly title: string;
  readonly detail: string;
}

export function problemText(error: unknown): ProblemText {
  if (error instanceof ProblemError) {
    const { title, detail, errors } = error.problem;
    const places = (errors ?? []).map(({ pointer, message }) => `${pointer}: ${message}`);
    const isRepeated = places.every((place) => detail.includes(place.split(": ")[1] ?? place));
    return { title, detail: isRepeated ? detail : [detail, ...places].join(" ") };
  }
  return {
    title: "Something went wrong in the console",
    detail: error instanceof Error ? error.message : String(error),
  };
}
