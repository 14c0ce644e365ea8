import { PROBLEMS_KEPT } from "../../trace/trace.ts";
import type { ImportReport, TraceProblem } from "../../trace/trace.ts";
import { traceOf } from "../request-trace.ts";
import type { RequestTrace, ServingRequest } from "../request-trace.ts";

export type RequestImport =
  | { readonly kind: "imported"; readonly trace: RequestTrace; readonly report: ImportReport }
  | { readonly kind: "refused"; readonly reason: string; readonly report: ImportReport };

/** Counts the rows of one import of requests. */
export class RequestLedger {
  #rowCount = 0;
  #brokenCount = 0;
  readonly #problems: TraceProblem[] = [];
  readonly #leftOut: Record<string, number> = {};
  readonly requests: ServingRequest[] = [];

  row(): void {
    this.#rowCount += 1;
  }

  broken(problem: TraceProblem): void {
    this.#brokenCount += 1;
    if (this.#problems.length < PROBLEMS_KEPT) this.#problems.push(problem);
  }

  leaveOut(reason: string): void {
    this.#leftOut[reason] = (this.#leftOut[reason] ?? 0) + 1;
  }

  /** Adds a request. Requests without output tokens are left out. */
  request(request: ServingRequest): void {
    if (request.outputTokens < 1) this.leaveOut("noOutput");
    else if (request.promptTokens < 1) this.leaveOut("noPrompt");
    else this.requests.push(request);
  }

  refuse(reason: string): RequestImport {
    return { kind: "refused", reason, report: this.#report() };
  }

  finish(pageTokens: number, skipBroken: boolean): RequestImport {
    const report = this.#report();
    if (report.brokenCount > 0 && !skipBroken) {
      const rows = report.brokenCount === 1 ? "1 row is" : `${report.brokenCount} rows are`;
      return { kind: "refused", reason: `${rows} broken, of ${report.rowCount}`, report };
    }
    if (this.requests.length === 0) return { kind: "refused", reason: "the file has no request", report };
    return { kind: "imported", trace: traceOf(this.requests, pageTokens), report };
  }

  #report(): ImportReport {
    return {
      rowCount: this.#rowCount,
      brokenCount: this.#brokenCount,
      problems: this.#problems,
      leftOut: this.#leftOut,
    };
  }
}
