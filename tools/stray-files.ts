/**
 * Part of `npm run check`: no file of the work tree is the output of a run. V8 writes its logs and profiles into the
 * current folder, from which they are easily committed.
 */
import { repositoryFiles } from "./testing/repository-copy.ts";

const stray = /\.(?:log|cpuprofile|heapprofile|heapsnapshot|orig|rej)$|(?:^|\/)core\.\d+$/;

const found = repositoryFiles().filter((file) => stray.test(file));
if (found.length > 0) {
  process.stdout.write(
    `${found.join("\n")}\n${found.length} files are the output of a run, not sources: delete them.\n`,
  );
  process.exitCode = 1;
}
