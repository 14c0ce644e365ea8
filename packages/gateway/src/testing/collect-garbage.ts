import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/**
 * Collects garbage twice: buffers that the first collection frees are released on another thread and still count until
 * the second collection.
 */
export function collectGarbage(): void {
  collect();
  collect();
}
