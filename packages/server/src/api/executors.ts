/** Declarations of executors, and their state. */
import { readDeclaration } from "@headroom/executors";
import { refuse } from "@headroom/protocol";
import type { ExecutorList, ExecutorRemoved, ExecutorSet } from "@headroom/protocol";
import { executorUse, NO_EXECUTOR_USE } from "@headroom/views";
import type { Call } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";

/** Each executor costs a timer and answers of its own; a fleet has a few clusters. */
const EXECUTORS_MAX = 100;

export async function executors({ driver, executorService }: ControlPlane): Promise<ExecutorList> {
  const uses = await driver.read(executorUse);
  const items = executorService.list().map(({ id, declaration, kind, state }) => ({
    name: id,
    type: declaration?.type ?? kind ?? "",
    mode: declaration?.mode ?? "run",
    isDeclared: declaration !== null,
    phase: state.phase,
    sinceMs: state.sinceMs,
    ...(state.phase === "unreachable" ? { reason: state.detail } : {}),
    settings: declaration?.settings ?? {},
    ...(uses.get(id) ?? NO_EXECUTOR_USE),
  }));
  return { items };
}

export async function declareExecutor(
  { executorService }: ControlPlane,
  { params: { name }, body }: Call<"declareExecutor">,
): Promise<ExecutorSet> {
  const reading = readDeclaration({ kind: "executor", name, ...body }, executorService.types);
  if (!reading.ok) {
    const errors = reading.problems.map(({ path, message }) => ({ pointer: `/${path.join("/")}`, message }));
    const text = errors.map(({ pointer, message }) => `${pointer}: ${message}`).join("; ");
    throw refuse("invalidRequest", `The declaration of the executor is not valid. ${text}.`, { errors });
  }
  const known = executorService.list();
  if (known.length >= EXECUTORS_MAX && !known.some(({ id }) => id === name))
    throw refuse("tooManyExecutors", `${known.length} executors are declared, and ${EXECUTORS_MAX} are possible.`);
  const { declaration, type } = reading;
  return { name, action: await executorService.declare({ declaration, type }) };
}

export async function removeExecutor(
  { driver, executorService }: ControlPlane,
  { params: { name } }: Call<"removeExecutor">,
): Promise<ExecutorRemoved> {
  if (!(await executorService.remove(name)))
    throw refuse("unknownExecutor", `No executor ${name} is declared. List them: headroom executor list`);
  const uses = await driver.read(executorUse);
  return { name, attempts: uses.get(name)?.attempts ?? 0 };
}
