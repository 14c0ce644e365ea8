import { attemptId } from "@headroom/model";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AttemptFiles } from "../../job-protocol/attempt-files.ts";
import { readJobList } from "../commands/job-list.ts";
import { judge } from "./judge.ts";
import type { WatchedJob } from "./slurm-attempt.ts";
import { watchedAttempt } from "./slurm-attempt.ts";

const rules = { lostAfterMs: 30_000, startTimeoutMs: 600_000, resubmitAfterMs: 10_000 };
const files = new AttemptFiles({ homeDir: "/nowhere", name: "w1.1", secret: "" });

/** Answers of Slurm, one every two seconds, and the conclusions from them without repetitions. */
class Course {
  readonly watched: WatchedJob = watchedAttempt(attemptId("w1.1"), files, false);
  readonly conclusions: string[] = [];
  readonly #isClaimed: boolean;

  constructor(isClaimed: boolean) {
    this.#isClaimed = isClaimed;
  }

  answer(text: string, seconds: number, isAlive = false): this {
    for (let at = 0; at < seconds; at += 2) {
      vi.advanceTimersByTime(2_000);
      if (isAlive) this.watched.signChangedAtMs = performance.now();
      const { kind } = judge(
        this.watched,
        readJobList(text, "job-", () => true),
        "job-w1.1",
        rules,
        this.#isClaimed ? { jobId: "7" } : null,
      );
      if (this.conclusions.at(-1) !== kind) this.conclusions.push(kind);
    }
    return this;
  }
}

const running = "7|RUNNING|None|0|job-w1.1\n";
const ended = "7|NODE_FAIL|None|0|job-w1.1\n";
const others = "9|RUNNING|None|0|other\n";

beforeEach(() => vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => vi.useRealTimers());

describe("an attempt that a job has claimed", () => {
  it("goes on while Slurm does not list it but its supervisors live", () => {
    expect(new Course(true).answer(running, 10).answer("", 3_600, true).conclusions).toEqual(["wait"]);
  });

  it("is lost once Slurm and its supervisors have both been silent about it", () => {
    expect(new Course(true).answer(running, 60, true).answer(others, 60).conclusions).toEqual(["wait", "lost"]);
  });

  it("is not stopped because a second submission of it ended, which found it claimed", () => {
    const second = "9|COMPLETED|None|0|job-w1.1\n";
    expect(new Course(true).answer(running, 10).answer(second, 3_600, true).conclusions).toEqual(["wait"]);
    expect(new Course(true).answer(second + ended, 60, true).conclusions).toEqual(["wait", "fence"]);
  });

  it("goes on while Slurm runs it, even without a sign of life", () => {
    expect(new Course(true).answer(running, 3_600).conclusions).toEqual(["wait"]);
  });

  it("goes on while answers are cut off", () => {
    expect(new Course(true).answer("9|RUNNING|None|oth", 3_600).conclusions).toEqual(["wait"]);
  });

  it("goes on when single answers leave it out", () => {
    const course = new Course(true);
    for (let round = 0; round < 50; round++) course.answer("", 20).answer(running, 2);
    expect(course.conclusions).toEqual(["wait"]);
  });

  it("is fenced when Slurm ended its job and its supervisors live, and then lost", () => {
    expect(new Course(true).answer(ended, 60, true).answer(ended, 60).conclusions).toEqual(["wait", "fence", "lost"]);
  });
});

describe("an attempt that no job has claimed", () => {
  it("is submitted again when Slurm does not know its job", () => {
    expect(new Course(false).answer("", 20).conclusions).toEqual(["wait", "submit"]);
  });

  it("waits as long as its job does, up to the start timeout", () => {
    const pending = "7|PENDING|Resources|0|job-w1.1\n";
    expect(new Course(false).answer(pending, 590).conclusions).toEqual(["wait"]);
    expect(new Course(false).answer(pending, 620).conclusions).toEqual(["wait", "void"]);
  });

  it("asks for the nodes of a job that waits for nodes that are not available", () => {
    const pending = "7|PENDING|ReqNodeNotAvail, UnavailableNodes:n1|0|job-w1.1\n";
    expect(new Course(false).answer(pending, 20).conclusions).toEqual(["wait", "checkNodes"]);
  });

  it("is given up when its jobs end without a supervisor", () => {
    const failed = "7|FAILED|NonZeroExitCode|0|job-w1.1\n";
    expect(new Course(false).answer(failed, 40).conclusions).toEqual(["wait", "submit", "void"]);
  });

  it("is not submitted again on answers that are cut off", () => {
    expect(new Course(false).answer("9|RUN", 600).conclusions).toEqual(["wait"]);
  });
});

describe("an attempt to which a job was passed on", () => {
  it("is submitted when the job does not claim it, though Slurm lists the job", () => {
    const course = new Course(false);
    course.watched.passedOnAtMs = performance.now();
    expect(course.answer(running, 30).conclusions).toEqual(["wait", "submit"]);
  });

  it("does not count the end of that job as one of its own", () => {
    const course = new Course(false);
    course.watched.passedOnAtMs = performance.now();
    course.answer(ended, 60);
    expect([course.conclusions, course.watched.unclaimedEnds]).toEqual([["wait", "submit"], 0]);
  });
});
