/** A chapter of the tour: shows one capability of Headroom through the commands of a user, with assertions. */
import type { Stage } from "./stage.ts";

export interface Chapter {
  /** Name for `--chapter`: lower case, words joined with hyphens. */
  readonly name: string;
  /** Content of the chapter, in one sentence. */
  readonly shows: string;
  /** Names of chapters that run before this one, even if `--chapter` names only this one. */
  readonly needs: readonly string[];
  /** Runs the chapter. Throws at the first assertion that fails. */
  run(stage: Stage): Promise<void>;
}
