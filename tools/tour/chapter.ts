/** A chapter of the tour: one thing that Headroom shows, driven as a user drives it, with assertions. */
import type { Stage } from "./stage.ts";

export interface Chapter {
  /** For `--chapter`: lower case, words joined with hyphens. */
  readonly name: string;
  /** One sentence: what the chapter shows. */
  readonly shows: string;
  /** Names of chapters that run before this one, also when `--chapter` names only this one. */
  readonly needs: readonly string[];
  /** Throws at the first assertion that fails. */
  run(stage: Stage): Promise<void>;
}
