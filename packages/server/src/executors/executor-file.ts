/** `executors.yaml` in the state directory: the declared executors, one document for each. */
import { readDeclaration } from "@headroom/executors";
import type { ExecutorDeclaration, ExecutorType } from "@headroom/executors";
import { readDocuments, writeDocuments } from "../declarations/document-file.ts";

const FILE = "executors.yaml";
const HEADER = "# Executors of this control plane. `headroom executor add` and `remove` write this file.\n";

export interface DeclaredExecutor {
  readonly declaration: ExecutorDeclaration;
  readonly type: ExecutorType;
}

/** Reads the file. A missing file declares nothing. Throws `invalidExecutors` with every problem that is found. */
export const readExecutorFile = (home: string, types: readonly ExecutorType[]): readonly DeclaredExecutor[] =>
  readDocuments<DeclaredExecutor>({
    home,
    name: FILE,
    code: "invalidExecutors",
    read(value) {
      const reading = readDeclaration(value, types);
      if (reading.ok) return { item: { declaration: reading.declaration, type: reading.type } };
      return { problems: reading.problems.map((each) => `${each.path.join(".")}: ${each.message}`) };
    },
    problemsOf(items) {
      const names = items.map(({ declaration }) => declaration.name);
      const twice = names.find((name, index) => names.indexOf(name) !== index);
      return twice === undefined ? [] : [`the executor ${twice} is declared twice`];
    },
  });

export const writeExecutorFile = (home: string, declarations: readonly ExecutorDeclaration[]): void =>
  writeDocuments({ home, name: FILE }, HEADER, declarations);
