/** Errors of MLflow's REST API: a code and a message (`ErrorCode` in mlflow/protos/databricks.proto). */

const statuses = {
  INVALID_PARAMETER_VALUE: 400,
  RESOURCE_ALREADY_EXISTS: 400,
  INVALID_STATE: 400,
  BAD_REQUEST: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  RESOURCE_DOES_NOT_EXIST: 404,
  ENDPOINT_NOT_FOUND: 404,
  RESOURCE_EXHAUSTED: 429,
  REQUEST_LIMIT_EXCEEDED: 429,
  INTERNAL_ERROR: 500,
  TEMPORARILY_UNAVAILABLE: 503,
} as const;
export type MlflowCode = keyof typeof statuses;

export class MlflowError extends Error {
  override readonly name = "MlflowError";
  readonly code: MlflowCode;

  constructor(code: MlflowCode, message: string) {
    super(message);
    this.code = code;
  }

  get status(): number {
    return statuses[this.code];
  }
}

export const invalid = (message: string): MlflowError => new MlflowError("INVALID_PARAMETER_VALUE", message);
export const missing = (message: string): MlflowError => new MlflowError("RESOURCE_DOES_NOT_EXIST", message);

/** The code for a failure that the server itself answers, such as a wrong token. */
export function codeOfStatus(status: number): MlflowCode {
  if (status === 401) return "UNAUTHENTICATED";
  if (status === 403) return "PERMISSION_DENIED";
  if (status === 429) return "REQUEST_LIMIT_EXCEEDED";
  if (status === 503) return "TEMPORARILY_UNAVAILABLE";
  if (status === 400 || status === 422) return "INVALID_PARAMETER_VALUE";
  return status >= 500 ? "INTERNAL_ERROR" : "BAD_REQUEST";
}

export const errorBody = (code: MlflowCode, message: string): string => JSON.stringify({ error_code: code, message });
