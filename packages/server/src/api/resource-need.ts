/** The question about access that a request asks for each resource that it names. */
import type { OperationName, Permission } from "@headroom/protocol";
import type { Resource } from "../auth/authorize.ts";
import type { Call } from "./calls.ts";

/** A resource with the permission that it needs, and the answer to a principal that may not read it. */
export interface ResourceNeed {
  readonly permission: Permission;
  readonly resource: Resource;
  absent(): Error;
}

export type ReadCall = Pick<Call<OperationName>, "params" | "query" | "body" | "principal">;
