/**
 * Runs a command inside a worker. The engine names the attempt and records the user and the command; only then does the
 * executor start the process.
 */
import type { WorkloadId } from "@headroom/model";
import { refuse } from "@headroom/protocol";
import { executorOf } from "./attempt-executor.ts";
import { command } from "./calls.ts";
import type { Answer, Call } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";

export async function startExec(plane: ControlPlane, call: Call<"startExec">): Promise<Answer<"startExec">> {
  const { worker, command: words, terminal, task = null } = call.body;
  const started = { attemptId: "", task: 0, node: "" };
  const workloadId = call.params.id as WorkloadId;
  const id = await plane.execs.add(call.actor, async () => {
    await refuseOthers(plane, workloadId, call.actor);
    const wanted = {
      kind: "startExec",
      workloadId,
      task,
      worker,
      run: words.join(" "),
      terminal: terminal !== undefined,
    } as const;
    // A repeated request would get the answer of the first one, but not its session.
    const caller = { actor: call.actor, idempotencyKey: null };
    const { attemptId, task: found, nodeId } = await command(plane, caller, wanted, "execStarted");
    Object.assign(started, { attemptId, task: found, node: nodeId });
    const workers = await plane.driver.read(({ state }) => state.attempts.get(attemptId)?.workers ?? []);
    const executor = await executorOf(plane, workers);
    const session = await executor?.exec?.(attemptId, { worker, command: words, terminal: terminal ?? null });
    if (session !== undefined) {
      if (call.body.endWorkload === true)
        void session.ended.then(async () => {
          // The shell may go on, and its state with it.
          if (session.isCut !== true) await stopWorkload(plane, workloadId, call.actor);
        });
      return session;
    }
    throw refuse("cannotExec", `No executor here runs attempt ${attemptId}, or it runs no commands inside workers.`);
  });
  return { id, worker, ...started };
}

/** Where work runs as a user or service account of its submitter, a command inside it would run as the submitter too (decision 71). */
async function refuseOthers(plane: ControlPlane, id: WorkloadId, actor: string): Promise<void> {
  const { submitter, workers } = await plane.driver.read(({ state }) => {
    const workload = state.workloads.get(id);
    const attempts = (workload?.activeAttempts ?? []).flatMap((each) => state.attempts.get(each) ?? []);
    return { submitter: workload?.actor ?? actor, workers: attempts.map((attempt) => attempt.workers) };
  });
  if (submitter === actor) return;
  for (const each of workers)
    if ((await executorOf(plane, each))?.capabilities.submitters === true)
      throw refuse(
        "cannotExec",
        `${id} runs as the user of ${submitter}, so only ${submitter} runs commands inside it.`,
      );
}

/** The user may have stopped the workload, or it has ended; a control plane that closes takes no commands. */
async function stopWorkload({ driver, log }: ControlPlane, workloadId: WorkloadId, actor: string): Promise<void> {
  try {
    await driver.command({ kind: "stopWorkload", workloadId, actor, idempotencyKey: null });
  } catch (error) {
    log.warn(`${workloadId} was not stopped with its shell: ${error instanceof Error ? error.message : String(error)}`);
  }
}
