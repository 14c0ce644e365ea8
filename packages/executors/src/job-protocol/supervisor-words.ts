/** The last words of a supervisor, for messages about attempts that it lost. */
import { constants, fstatSync, openSync, readSync } from "node:fs";
import type { AttemptFiles } from "./attempt-files.ts";
import { withFile } from "./attempt-files.ts";

/** Maximum length of the part of a supervisor's output that a message quotes. */
const LAST_WORDS_MAX = 300;

/** A supervisor prints only errors. Returns its output as the end of a sentence, or an empty text if there is none. */
export function supervisorLastWords({ supervisorLog }: AttemptFiles): string {
  let text = "";
  try {
    const opened = openSync(supervisorLog, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    text = withFile(opened, (file) => {
      // The user of a job could have put a hard link to a file of someone else in its place.
      if (fstatSync(file).nlink > 1) return "";
      const last = Buffer.alloc(4 * LAST_WORDS_MAX);
      const read = readSync(file, last, 0, last.length, Math.max(0, fstatSync(file).size - last.length));
      return last.toString("utf8", 0, read).trim();
    });
  } catch {
    // The supervisor did not create its log.
  }
  return text === "" ? "" : ` It said: ${text.slice(-LAST_WORDS_MAX)}`;
}
