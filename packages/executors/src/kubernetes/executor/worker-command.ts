/**
 * The first process of a worker's container, as a script of POSIX sh. It runs the command, passes a stop on to every process of the
 * container, and lets them have their grace. A signal to the first process alone would reach no other, and a shell that is the first
 * process ignores signals for which it has no trap (pid_namespaces(7)).
 */

/** Arguments: the working directory (empty: that of the image) and the command. */
export const WORKER_SCRIPT = `stops=0; code=
pass() { stops=$((stops + 1)); trap '' TERM; if [ $$ = 1 ]; then kill -TERM -1; else kill -TERM "$child"; fi 2>/dev/null; }
mkdir -p "$HEADROOM_CHECKPOINT_DIR" 2>/dev/null
if [ -n "$1" ]; then cd -- "$1" || exit 127; fi
trap pass TERM
/bin/sh -c "$2" &
child=$!
while :; do
  before=$stops; wait "$child"; got=$?
  if [ "$got" != 127 ] || [ -z "$code" ]; then code=$got; fi
  [ "$before" = "$stops" ] && break
done
if [ "$stops" != 0 ] && [ $$ = 1 ]; then while kill -0 -1 2>/dev/null; do sleep 0.1 2>/dev/null || sleep 1; done; fi
exit "$code"`;

/** Linux accepts no longer argument (`MAX_ARG_STRLEN`, execve(2)). */
const ARGUMENT_MAX_BYTES = 128 * 1024;
/** etcd takes 1.5 MiB, and the object has more than the environment. */
const ENVIRONMENT_MAX_BYTES = 512 * 1024;

/** Why the kernel or the API server would refuse the command; `null`: neither would. */
export function tooLong(run: string, environment: Readonly<Record<string, string>>): string | null {
  const entries = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const longest = [run, ...entries].reduce((most, text) => Math.max(most, Buffer.byteLength(text)), 0);
  if (longest >= ARGUMENT_MAX_BYTES)
    return `it has ${longest} bytes in one argument or variable, and Linux takes at most ${ARGUMENT_MAX_BYTES - 1}`;
  const total = entries.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return total > ENVIRONMENT_MAX_BYTES ? `its environment has ${total} bytes` : null;
}

/** Kubernetes replaces `$(NAME)` in commands and variables; `$$` stands for one `$`. */
export const literal = (text: string): string => text.replaceAll("$", "$$$$");
