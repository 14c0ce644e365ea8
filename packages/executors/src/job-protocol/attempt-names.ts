/** Directory names for attempt ids. An id can contain any character; a directory name cannot. */
import { attemptId, kindRules } from "@headroom/model";
import type { AttemptId, LaunchGang } from "@headroom/model";

const NAME_MAX_BYTES = 200;
/** Prefix of what was found in the place of an attempt's directory. Names of attempts do not begin with a dot. */
export const ASIDE_PREFIX = ".aside-";

export function attemptDirName(id: AttemptId): string {
  return safeName(id);
}

/** The attempt id that a directory name stands for; `null`: the name belongs to no attempt. */
export function attemptIdOfName(name: string): AttemptId | null {
  try {
    const id = decodeURIComponent(name);
    return safeName(id) === name ? attemptId(id) : null;
  } catch {
    return null;
  }
}

/** Several tasks have separate directories, because each task resumes from its own checkpoint. */
export function taskDirName({ workloadId, spec, task }: LaunchGang): string {
  return kindRules(spec).hasTasks ? `${safeName(workloadId)}/${task}` : safeName(workloadId);
}

/** The encoding is reversible, so two ids never share a name. */
function safeName(id: string): string {
  const name = encodeURIComponent(id).replace(/^\./, "%2E");
  if (name === "" || name.length > NAME_MAX_BYTES)
    throw new Error(`an id of ${id.length} characters names no directory`);
  return name;
}
