/** Declarations of executors, and their state. */
import { readDeclaration } from "@headroom/executors";
import { ProblemError, refuse } from "@headroom/protocol";
import type { ExecutorAbandoned, ExecutorList, ExecutorRemoved, ExecutorSet } from "@headroom/protocol";
import { executorPhase, executorUse, NO_EXECUTOR_USE } from "@headroom/views";
import { command } from "./calls.ts";
import type { Call } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";

/** Each executor costs a timer and answers of its own; a fleet has a few clusters. */
const EXECUTORS_MAX = 100;

export async function executors({ driver, executorService }: ControlPlane): Promise<ExecutorList> {
  const listed = executorService.list();
  return driver.read((engine) => {
    const uses = executorUse(engine);
    const removed = [...engine.state.executorStates.values()].filter(({ phase }) => phase === "removed");
    const known = [
      ...listed,
      ...removed
        .filter(({ executor }) => !listed.some(({ id }) => id === executor))
        .map(({ executor: id }) => ({ id, declaration: null, kind: engine.state.executors.get(id)?.kind })),
    ];
    const items = known.map(({ id, declaration, kind }) => ({
      name: id,
      type: declaration?.type ?? kind ?? "",
      isDeclared: declaration !== null,
      settings: declaration?.settings ?? {},
      ...executorPhase(engine, id),
      ...(uses.get(id) ?? NO_EXECUTOR_USE),
    }));
    return { items };
  });
}

export async function declareExecutor(plane: ControlPlane, call: Call<"declareExecutor">): Promise<ExecutorSet> {
  const { executorService } = plane;
  const {
    params: { name },
    body,
  } = call;
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
  // The file comes first: after a crash in between, the next start records what the file declares.
  const action = await executorService.declare({ declaration, type }, async () => {
    const change = { kind: "declare", mode: declaration.mode } as const;
    await command(plane, call, { kind: "setExecutor", executor: name, change }, "executorSet");
  });
  return { name, action };
}

export async function abandonExecutor(plane: ControlPlane, call: Call<"abandonExecutor">): Promise<ExecutorAbandoned> {
  const { name } = call.params;
  const change = { kind: "abandon", reason: call.body.reason ?? "" } as const;
  try {
    const { attempts } = await command(plane, call, { kind: "setExecutor", executor: name, change }, "executorSet");
    return { name, attempts };
  } catch (error) {
    const isUnknown = error instanceof ProblemError && error.code === "unknownExecutor";
    if (isUnknown && plane.executors.has(name))
      throw refuse("executorReachable", `The executor ${name} answers, so its attempts are known.`);
    throw error;
  }
}

export async function removeExecutor(plane: ControlPlane, call: Call<"removeExecutor">): Promise<ExecutorRemoved> {
  const { name } = call.params;
  let attempts = 0;
  const isRemoved = await plane.executorService.remove(name, async () => {
    const wanted = { kind: "setExecutor", executor: name, change: { kind: "remove" } } as const;
    ({ attempts } = await command(plane, call, wanted, "executorSet"));
  });
  if (!isRemoved) throw refuse("unknownExecutor", `No executor ${name} is declared. List them: headroom executor list`);
  return { name, attempts };
}
