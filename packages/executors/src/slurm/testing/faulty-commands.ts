/**
 * A directory of Slurm's commands whose answers are sometimes wrong, as those of a controller that is overloaded, restarts or forgets: empty,
 * cut off, late, refused, contradictory, or lost after the call took effect. The kind is drawn at each call.
 */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

/** `$P`: percentage of calls with a fault. */
const WRAPPER = `#!/bin/bash
name=$(basename "$0")
real=/usr/bin/$name
P=@PERCENT@
(( RANDOM % 100 < P )) || exec "$real" "$@"
case $((RANDOM % 7)) in
  0) exit 0 ;;
  1) out=$("$real" "$@"); status=$?; printf '%s' "\${out:0:$((RANDOM % (\${#out} + 1)))}"; exit $status ;;
  2) sleep 3; exec "$real" "$@" ;;
  3) echo "$name: error: Unable to contact slurm controller (connect failure)" >&2; exit 1 ;;
  4) "$real" "$@" >/dev/null; echo "$name: error: Socket timed out on send/recv operation" >&2; exit 1 ;;
  5) out=$("$real" "$@"); status=$?; printf '%s\\n' "$out" | sed 's/RUNNING/COMPLETED/; s/PENDING/CANCELLED/; s/State=IDLE/State=DOWN/'; exit $status ;;
  6) out=$("$real" "$@"); status=$?; printf '%s\\n' "$out" | sed -n '0~2p'; exit $status ;;
esac
`;

/** Returns the directory, for the setting `commands`. */
export function makeFaultyCommands(root: string, percent: number): string {
  const directory = path.join(root, "commands");
  mkdirSync(directory, { recursive: true });
  for (const name of ["sbatch", "scancel", "scontrol", "squeue"]) {
    const file = path.join(directory, name);
    writeFileSync(file, WRAPPER.replace("@PERCENT@", String(percent)));
    chmodSync(file, 0o755);
  }
  return directory;
}
