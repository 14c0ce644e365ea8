/** Names of directories for ids. An id is opaque and may hold any character; a name of a directory may not. */
import { attemptId } from "@headroom/engine";
import type { AttemptId, LaunchGang } from "@headroom/engine";

const NAME_MAX_BYTES = 200;

export function attemptDirName(id: AttemptId): string {
  return safeName(id);
}

/** The id behind the name of a directory; `null`: no attempt has that name. */
export function attemptIdOfName(name: string): AttemptId | null {
  try {
    const id = decodeURIComponent(name);
    return safeName(id) === name ? attemptId(id) : null;
  } catch {
    return null;
  }
}

/** A batch's tasks are told apart, since each of them resumes from its own checkpoint. */
export function taskDirName({ workloadId, spec, task }: LaunchGang): string {
  return spec.kind === "batch" ? `${safeName(workloadId)}/${task}` : safeName(workloadId);
}

/** Two ids never share a name: the encoding can be undone. */
function safeName(id: string): string {
  const name = encodeURIComponent(id).replace(/^\./, "%2E");
  if (name === "" || name.length > NAME_MAX_BYTES)
    throw new Error(`an id of ${id.length} characters names no directory`);
  return name;
}
